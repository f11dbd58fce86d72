// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/log_rates.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr LogTool torchtitan_tool = {.name = "torchtitan",
                                     .label = "torchtitan",
                                     .counting = FlopCounting::torchtitan,
                                     .rate_name = "tflops"};
constexpr LogTool megatron_tool = {
    .name = "megatron", .label = "Megatron-LM", .counting = FlopCounting::megatron};
constexpr LogTool llm_c_tool = {.name = "llm_c", .label = "llm.c", .counting = FlopCounting::llm_c};
constexpr LogTool nanogpt_tool = {
    .name = "nanogpt", .label = "nanoGPT", .counting = FlopCounting::nanogpt};
constexpr LogTool hugging_face_tool = {.name = "hugging_face", .label = "Hugging Face Trainer"};

// Forty records of `tool`, all alike.
JobLog log_of(const LogTool* tool, double wall_ns, std::optional<double> flops,
              std::optional<double> mfu = {}) {
  JobLog log;
  for (int i = 1; i <= 40; ++i) {
    LogRecord r;
    r.tool = tool;
    r.iteration = i;
    r.wall_ns = wall_ns;
    r.flops_per_s = flops;
    r.mfu = mfu;
    log.records.push_back(r);
  }
  return log;
}

LogSteps steps_of_all(const JobLog& log, const LogTool* tool) {
  LogSteps steps;
  steps.tool = tool;
  steps.launches = {0};
  for (std::size_t i = 0; i < log.records.size(); ++i)
    steps.steps.push_back({.iteration = log.records[i].iteration,
                           .steps = 1,
                           .wall_ns = *log.records[i].wall_ns,
                           .record = i,
                           .cause = {}});
  return steps;
}

LogModel of_catalogue(const char* name, std::int64_t batch, std::int64_t sequence, double devices) {
  const auto model = find_model(name);
  EXPECT_TRUE(model);
  return {.model = *model,
          .source = "--model",
          .why_not = {},
          .batch = batch,
          .sequence = sequence,
          .devices = devices};
}

LogRates rates_of(const JobLog& log, const LogTool* tool, const LogModel& model,
                  std::optional<FlopRate> peak = {}) {
  const LogSteps steps = steps_of_all(log, tool);
  return log_rates(log, steps, account_of(log, steps), model, peak);
}

// Relative to Megatron's halved count torchtitan gives 1.125 for Llama-3-8B at 8192.
TEST(LogRates, TorchtitanCountsAllOfAttention) {
  JobLog log = log_of(&torchtitan_tool, 2e9, 161.76e12, 0.5185);
  log.settings["mfu_peak"] = "989000000000000";
  const LogRates rates =
      rates_of(log, &torchtitan_tool, of_catalogue("llama-3-8b", 8, 8192, 8), FlopRate{989e12});
  ASSERT_EQ(rates.rates.size(), 3U);
  EXPECT_NEAR(1 / *rates.rates[0].factor, 1.125, 0.0005);
  EXPECT_NEAR(*rates.rates[0].ours, 161.76e12 / 1.125, 0.1e12);
  EXPECT_EQ(rates.rates[1].name, "mfu");
  EXPECT_NEAR(*rates.rates[1].ours, 0.5185 / 1.125, 0.0005);
  EXPECT_EQ(rates.rates[2].name, "from the step time");
  const double halved =
      model_flops(*find_model("llama-3-8b"), 8 * 8192, 8192, FlopsConvention::causal_halved)
          .per_step.value;
  EXPECT_NEAR(*rates.rates[2].ours, halved / 2 / 8, 1e6);
  EXPECT_NEAR(*rates.mfu, halved / 2 / 8 / 989e12, 1e-9);
}

TEST(LogRates, ADifferentPeakIsConvertedToo) {
  JobLog log = log_of(&torchtitan_tool, 2e9, {}, 0.4);
  log.settings["mfu_peak"] = "312000000000000";  // its value for an unknown device
  const LogRates rates =
      rates_of(log, &torchtitan_tool, of_catalogue("llama-3-8b", 8, 8192, 8), FlopRate{989e12});
  EXPECT_NEAR(*rates.rates[0].ours, 0.4 / 1.125 * 312 / 989, 0.0002);
}

// The numbers show which Megatron printed them.
TEST(LogRates, MegatronsVersionShowsInItsNumbers) {
  const LogModel model = of_catalogue("llama-2-7b", 64, 2048, 8);
  const auto halved = model_flops(*model.model, 64 * 2048, 2048, FlopsConvention::causal_halved);
  const double now = halved.per_step.value / 2 / 8;
  const LogRates current = rates_of(log_of(&megatron_tool, 2e9, now), &megatron_tool, model);
  EXPECT_DOUBLE_EQ(*current.rates[0].factor, 1);
  EXPECT_NE(current.rates[0].convention.find("halved"), std::string::npos);
  // All of attention: 6 L a d s more per token.
  const double more = 6.0 * 32 * 4096 * 2048 * 64 * 2048 / 2 / 8;
  const LogRates old = rates_of(log_of(&megatron_tool, 2e9, now + more), &megatron_tool, model);
  EXPECT_NE(old.rates[0].convention.find("older"), std::string::npos);
  EXPECT_NEAR(*old.rates[0].ours, now, 1e6);
  const LogRates neither = rates_of(log_of(&megatron_tool, 2e9, now * 1.5), &megatron_tool, model);
  EXPECT_NE(neither.rates[0].remark.find("does not follow"), std::string::npos);
}

// 72 B s L h^2 (1 + s / 6h + V / 16 L h) of the fork, with recompute 96.
TEST(LogRates, MegatronDeepSpeedCountsWhatTheHardwareDoes) {
  JobLog log = log_of(&megatron_tool, 1e9, 69.85e12);
  log.settings = {{"rate_field", "TFLOPs"},       {"num_layers", "32"},
                  {"hidden_size", "4096"},        {"num_attention_heads", "32"},
                  {"padded_vocab_size", "32000"}, {"seq_length", "4096"},
                  {"ffn_hidden_size", "16384"},   {"checkpoint_activations", "True"},
                  {"global_batch_size", "8"},     {"world_size", "8"}};
  const LogSteps steps = steps_of_all(log, &megatron_tool);
  const LogAccount account = account_of(log, steps);
  const LogModel model = model_of_log(log, account);
  ASSERT_TRUE(model.model) << model.why_not;
  EXPECT_TRUE(model.recompute);
  const LogRates rates = log_rates(log, steps, account, model, std::nullopt);
  const double h = 4096;
  const double s = 4096;
  const double tool = 96 * 32 * h * h * (1 + s / (6 * h) + 32000 / (16 * 32 * h));
  const double ours = 6 * (32 * (4 * h * h + 2 * h * 16384) + 32000 * h) + 6 * 32 * h * s;
  EXPECT_NEAR(*rates.rates[0].factor, ours / tool, 1e-9);
  EXPECT_FALSE(rates.mfu);
}

// 8 N of the model; the step time gives three quarters of that and attention.
TEST(LogRates, EffectiveTeraFlopsCountRecomputation) {
  const LogModel model = of_catalogue("llama-2-7b", 64, 2048, 8);
  const double tokens = 64 * 2048 / 2.0 / 8;
  const double six_n =
      model_flops(*model.model, 2048, 2048, FlopsConvention::six_n).per_step.value / 2048;
  JobLog log = log_of(&megatron_tool, 2e9, 8.0 / 6 * six_n * tokens);
  log.settings["rate_field"] = std::string(effective_rate);
  const LogRates rates = rates_of(log, &megatron_tool, model);
  ASSERT_EQ(rates.rates.size(), 2U);
  EXPECT_NEAR(*rates.rates[0].ours / *rates.rates[1].ours, 1, 1e-9);
  EXPECT_TRUE(rates.contradiction.empty());
}

TEST(LogRates, ARateThatNoDeviceComputesIsWithheld) {
  const LogModel one = of_catalogue("llama-2-7b", 4096, 2048, 1);
  const LogRates rates = rates_of(log_of(&megatron_tool, 2e9, {}), &megatron_tool, one);
  EXPECT_TRUE(rates.rates.empty());
  EXPECT_FALSE(rates.contradiction.empty());
  EXPECT_NE(say(rates.contradiction).find("no device computes"), std::string::npos);
}

// The log prints a fourth of what one device would have to compute.
TEST(LogRates, ARateThatContradictsThePrintedOneIsWithheld) {
  const LogModel model = of_catalogue("llama-2-7b", 16, 2048, 2);
  const auto halved = model_flops(*model.model, 16 * 2048, 2048, FlopsConvention::causal_halved);
  const LogRates rates =
      rates_of(log_of(&megatron_tool, 8e9, halved.per_step.value / 8 / 8), &megatron_tool, model);
  ASSERT_EQ(rates.rates.size(), 1U);
  EXPECT_TRUE(rates.rates[0].printed);
  EXPECT_NE(say(rates.contradiction).find("and the log prints"), std::string::npos);
}

// GPT-2 of llm.c on eight devices, 64 sequences each, 0.5 s per step: it would print (6 N + 6 L C
// T) tokens / time / peak. Converted, this equals the value from the step time.
TEST(LogRates, LlmCCountsAllParametersAndHalfOfAttention) {
  const double counted = 6 * 124475904.0 + 6.0 * 12 * 768 * 1024;
  JobLog log = log_of(&llm_c_tool, 0.5e9, {}, counted * 65536 / 0.5 / 989.4e12);
  log.settings = {
      {"num_layers", "12"},           {"hidden_size", "768"}, {"num_attention_heads", "12"},
      {"padded_vocab_size", "50304"}, {"seq_length", "1024"}, {"num_parameters", "124475904"},
      {"global_batch_size", "512"},   {"world_size", "8"},    {"mfu_peak", "989400000000000"}};
  const LogSteps steps = steps_of_all(log, &llm_c_tool);
  const LogAccount account = account_of(log, steps);
  const LogRates rates =
      log_rates(log, steps, account, model_of_log(log, account), FlopRate{989e12});
  ASSERT_EQ(rates.rates.size(), 2U);
  EXPECT_EQ(rates.rates[0].name, "mfu");
  const double h = 768;
  const double halved = 6 * (12 * 12 * h * h + 50304 * h) + 6 * 12 * h * 1024;
  EXPECT_NEAR(*rates.rates[0].factor, halved / counted * 989.4 / 989, 2e-3);
  EXPECT_NEAR(*rates.rates[0].ours, *rates.rates[1].mfu, 1e-9);
}

// 6 (N - positions) + 12 L H Q T over the peak of an A100, for any device.
TEST(LogRates, NanoGptTakesAnA100) {
  JobLog log = log_of(&nanogpt_tool, 0.135e9, {}, 0.1751);
  log.settings["mfu_peak"] = "312000000000000";
  const LogModel model = of_catalogue("gpt2", 480, 1024, 8);
  const LogRates rates = rates_of(log, &nanogpt_tool, model, FlopRate{989e12});
  const ParameterCount n = parameter_count(*model.model);
  const double counted = 6.0 * static_cast<double>(n.total - 1024 * 768) + 12.0 * 12 * 768 * 1024;
  const double halved =
      model_flops(*model.model, 1024, 1024, FlopsConvention::causal_halved).per_step.value / 1024;
  EXPECT_NEAR(*rates.rates[0].factor, halved / counted * 312 / 989, 1e-9);
}

TEST(LogRates, WithoutAModelTheConventionIsSaidAndNothingConverted) {
  const JobLog log = log_of(&torchtitan_tool, 2e9, 161.76e12, 0.5185);
  const LogSteps steps = steps_of_all(log, &torchtitan_tool);
  const LogAccount account = account_of(log, steps);
  const LogRates rates =
      log_rates(log, steps, account, model_of_log(log, account), FlopRate{989e12});
  ASSERT_EQ(rates.rates.size(), 2U);
  EXPECT_FALSE(rates.rates[0].ours);
  EXPECT_NE(rates.rates[0].convention.find("torchtitan"), std::string::npos);
  EXPECT_NE(rates.rates[0].remark.find("--model"), std::string::npos);
  EXPECT_FALSE(rates.mfu);
}

// 2.2e18 FLOPs in 60 s on 1024 devices of 312 TFLOP/s.
TEST(LogRates, GivenFlopsNeedNoModel) {
  const JobLog log = log_of(&megatron_tool, 60e9, {});
  const LogSteps steps = steps_of_all(log, &megatron_tool);
  const LogAccount account = account_of(log, steps);
  LogModel model = model_of_log(log, account);
  model.devices = 1024;
  model.flops_per_step = Flops{2.2020096e18};
  const LogRates rates = log_rates(log, steps, account, model, FlopRate{312e12});
  ASSERT_TRUE(rates.mfu);
  EXPECT_NEAR(*rates.mfu, 2.2020096e18 / (60.0 * 1024 * 312e12), 1e-12);
  EXPECT_EQ(rates.rates.back().convention, flops_as_given);
}

TEST(LogRates, ExpertsAreNotGuessed) {
  JobLog log = log_of(&megatron_tool, 1e9, 1e12);
  log.settings = {{"num_layers", "2"},
                  {"hidden_size", "64"},
                  {"num_attention_heads", "4"},
                  {"padded_vocab_size", "128"},
                  {"num_experts", "8"}};
  const LogSteps steps = steps_of_all(log, &megatron_tool);
  EXPECT_NE(model_of_log(log, account_of(log, steps)).why_not.find("experts"), std::string::npos);
}

TEST(LogRates, TheTrainersTotalIsOverTheWholeRun) {
  JobLog log = log_of(&hugging_face_tool, 1e9, {});
  log.run_flops = 6e15;
  log.run_s = 3;
  const LogRates rates = rates_of(log, &hugging_face_tool, of_catalogue("gpt2", 8, 1024, 1));
  EXPECT_DOUBLE_EQ(*rates.rates[0].printed, 2e15);
  EXPECT_GT(*rates.rates[0].factor, 1);
}

}  // namespace
}  // namespace stepscope
