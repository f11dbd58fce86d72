// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/predict_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace stepscope {
namespace {

// A step of thirds, which no rounding of each sums to 100.
struct Predicted {
  PredictResult report;
  Predicted() {
    report.model.name = std::string("model");
    report.machine.name = std::string("machine");
    report.machine.memory = Bytes{80'000'000'000};
    report.plan.devices = report.plan.dp = 4;
    report.plan.global_batch = 8;
    for (const StepTerm t : {StepTerm::matmul, StepTerm::bubble, StepTerm::data})
      report.cost.seconds[static_cast<std::size_t>(t)] = 1.0;
    report.cost.mfu[0] = 0.3;
    report.cost.tokens_per_second = 1000;
    report.cost.memory.bytes[0] = 50e9;
  }
};

TEST(PredictReport, PrintsSharesThatSumToTheStep) {
  const Predicted p;
  std::istringstream lines(predict_text(p.report));
  std::int64_t tenths = 0;
  std::string line;
  while (std::getline(lines, line) && line != "Where the step goes:") {
  }
  while (std::getline(lines, line) && !line.empty()) {
    const std::size_t percent = line.find(" %");
    ASSERT_NE(percent, std::string::npos) << line;
    tenths += std::llround(std::stod(line.substr(line.rfind(' ', percent - 1))) * 10);
  }
  EXPECT_EQ(tenths, 1000);
}

TEST(PredictReport, SaysByHowMuchItFitsOrDoesNot) {
  Predicted p;
  EXPECT_NE(predict_text(p.report).find("50.0 GB of 80.0 GB, 30.0 GB to spare"), std::string::npos);
  EXPECT_EQ(predict_sentence(p.report).find("does not fit"), std::string::npos);
  p.report.cost.memory.bytes[0] = 100e9;
  EXPECT_NE(predict_sentence(p.report).find("It does not fit: each device lacks 20.0 GB"),
            std::string::npos);
  EXPECT_EQ(predict_tree(p.report)["memory"]["fits"], false);
}

TEST(PredictReport, HoldsWhatLiesOnTheHostAgainstItsSize) {
  Predicted p;
  p.report.cost.memory.host_bytes = 300e9;
  EXPECT_EQ(predict_tree(p.report)["memory"]["fits"], true);
  EXPECT_TRUE(predict_tree(p.report)["memory"]["host_capacity_bytes"].is_null());
  p.report.machine.host = Host{};
  p.report.machine.host->memory = Bytes{250'000'000'000};
  EXPECT_EQ(predict_tree(p.report)["memory"]["fits"], false);
  EXPECT_EQ(predict_tree(p.report)["memory"]["host_capacity_bytes"], 250'000'000'000);
  EXPECT_NE(predict_sentence(p.report).find("each device lacks 50.0 GB of host memory"),
            std::string::npos);
  EXPECT_NE(predict_text(p.report).find("300 GB of 250 GB: 50.0 GB TOO MUCH"), std::string::npos);
}

TEST(PredictReport, LeavesFitsOpenWhereTheMemoryIsUnknown) {
  Predicted p;
  p.report.machine.memory.reset();
  const Json tree = predict_tree(p.report);
  EXPECT_TRUE(tree["memory"]["fits"].is_null());
  EXPECT_TRUE(tree["memory"]["headroom_bytes"].is_null());
}

TEST(PredictReport, GivesTheCostWhereAPriceIsKnown) {
  Predicted p;
  EXPECT_TRUE(predict_tree(p.report)["cost"].is_null());
  p.report.price_per_gpu_hour = 3.6;
  EXPECT_DOUBLE_EQ(predict_tree(p.report)["cost"]["per_step"].get<double>(), 4 * 3 * 1e-3);
}

TEST(PredictReport, ComparesPlansAndSaysWhyOneCannotRun) {
  Predicted p;
  p.report.comparison.push_back({.label = "zero=0", .plan = p.report.plan, .cost = p.report.cost});
  p.report.comparison.push_back(
      {.label = "zero=9", .plan = p.report.plan, .cost = {}, .why_not = "no such stage"});
  const std::string text = predict_text(p.report);
  EXPECT_NE(text.find("zero=0"), std::string::npos);
  EXPECT_NE(text.find("no such stage"), std::string::npos) << text;
  EXPECT_EQ(predict_csv(p.report).back().name, "comparison.csv");
}

TEST(PredictReport, WordsAPlanByWhatItSplits) {
  Plan plan;
  plan.tp = 8;
  plan.sequence_parallel = true;
  plan.pp = 4;
  plan.dp = 2;
  plan.zero = 1;
  plan.global_batch = 16;
  EXPECT_EQ(plan_in_words(plan),
            "TP 8 with sequence parallelism · PP 4 (1f1b) · DP 2, ZeRO-1 · 8 micro-batches of 1 × "
            "2048 tokens · bf16");
}

}  // namespace
}  // namespace stepscope
