// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/log_report.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/run_warnings.h"

namespace stepscope {
namespace {

constexpr LogTool megatron_tool = {
    .name = "megatron", .label = "Megatron-LM", .counting = FlopCounting::megatron};

// Forty records of Megatron-LM, of which the last half take a tenth longer.
struct Made {
  JobLog log;
  LogSteps steps;
  LogAccount account;
  LogModel model;
  LogRates rates;

  Made() {
    steps.tool = &megatron_tool;
    steps.how = "elapsed time per iteration";
    steps.launches = {0};
    steps.ranks = {7};
    for (int i = 0; i < 60; ++i) {
      LogRecord r;
      r.tool = &megatron_tool;
      r.iteration = 10 * (i + 1);
      r.wall_ns = ((i < 30 ? 500 : 550) + (i * 7) % 3) * 1e6;
      r.flops_per_s = 412e12;
      r.batch = 256;
      r.loss = 9.5 - 0.1 * i;
      r.memory_bytes = 20e9;
      steps.steps.push_back({.iteration = r.iteration,
                             .steps = 10,
                             .wall_ns = *r.wall_ns,
                             .record = log.records.size(),
                             .cause = {}});
      log.records.push_back(r);
    }
    log.tools = {{&megatron_tool, 60}};
    log.notes["records_cut"] = 2;
    log.settings = {{"seq_length", "2048"}, {"world_size", "8"}};
    log.timers = {{"optimizer", &megatron_tool, {14, 14, 15}}};
    log.communication = {{.operation = "all_reduce",
                          .size = "1.0 GB",
                          .count = 4,
                          .total_ms = 40,
                          .printed_algbw_gbit = 1600,
                          .printed_busbw_gbit = 1400,
                          .calls_ms = 10}};
    account = account_of(log, steps);
    model = model_of_log(log, account);
    rates = log_rates(log, steps, account, model, FlopRate{989e12});
  }
  [[nodiscard]] LogFacts report() const { return {log, steps, account, model, rates}; }
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(LogText, SaysWhatTheLogTells) {
  const Made made;
  const std::string text = log_text(made.report(), {.width = 100});
  for (const char* part :
       {"Log of Megatron-LM (60 lines). Step times: Megatron-LM, elapsed time per iteration, means "
        "of",
        "step 10 to 600; rank 7.", "tokens/s", "a device of 8", "Megatron-LM prints 412 TFLOP/s",
        "9.5 to 3.6, least 3.6 at step 600", "20.0 GB at most",
        "from step 310 on 551 ms instead of", "optimizer", "1600", "100", "175"})
    EXPECT_TRUE(has(text, part)) << part << '\n' << text;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 180U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(LogText, WarnsOfWhatWasCutAndOfARegression) {
  const Made made;
  const auto warnings = log_warnings(made.report());
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_TRUE(has(warnings[0], "2 lines that report on a step are cut"));
  EXPECT_TRUE(has(warnings[1], "longer at step 310"));
}

TEST(LogText, SaysThatTheStepDrifts) {
  Made made;
  made.account.changes.clear();
  made.account.drift = Drift{.first = 470e6, .last = 660e6, .p = 1e-9};
  const auto warnings = log_warnings(made.report());
  EXPECT_TRUE(has(warnings.back(), "becomes 40.4 % longer from one end")) << warnings.back();
  EXPECT_TRUE(has(log_text(made.report(), {.width = 100}), "470 ms to 660 ms from end to end"));
  EXPECT_DOUBLE_EQ(log_tree(made.report())["drift"]["last_ns"].get<double>(), 660e6);
}

TEST(LogText, AbsentFiguresAreNull) {
  const Made made;
  const Json tree = log_tree(made.report());
  EXPECT_EQ(tree["steps_from"], "megatron");
  EXPECT_TRUE(tree["model"].is_null());
  EXPECT_TRUE(tree["rates"][0]["value"].is_null());
  EXPECT_DOUBLE_EQ(tree["rates"][0]["printed"].get<double>(), 412);
  EXPECT_TRUE(tree["memory_share"].is_null());
  EXPECT_DOUBLE_EQ(tree["communication"][0]["algbw_gb_per_s"].get<double>(), 100);
  EXPECT_EQ(tree["changes"][0]["iteration"], 310);
  EXPECT_TRUE(tree["drift"].is_null());
}

}  // namespace
}  // namespace stepscope
