// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/train_report.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TrainRankStep rank_step(std::int64_t compute, std::int64_t wait, std::int64_t transfer) {
  TrainRankStep s;
  s.budget[static_cast<std::size_t>(BudgetCategory::compute)] = Ns{compute};
  s.budget[static_cast<std::size_t>(BudgetCategory::comm_exposed_wait)] = Ns{wait};
  s.budget[static_cast<std::size_t>(BudgetCategory::comm_exposed_transfer)] = Ns{transfer};
  s.wall = Ns{compute + wait + transfer};
  s.phases[static_cast<std::size_t>(Phase::forward)] = Ns{compute / 3};
  s.phases[static_cast<std::size_t>(Phase::backward)] = Ns{compute - compute / 3};
  s.phases[static_cast<std::size_t>(Phase::other)] = Ns{wait + transfer};
  s.tokens = 512;
  return s;
}

TrainReport run() {
  TrainReport r;
  r.version = "0";
  r.setup = {.model = "gpt2-tiny",
             .parameters = 3'200'000,
             .ranks = 2,
             .zero = 3,
             .precision = "f32",
             .batch = 4,
             .sequence = 128,
             .accumulation = 1,
             .recompute = "none",
             .transport = "shm"};
  r.peak = FlopRate{100e9};
  r.peak_source = "measured";
  r.model_flops = Flops{12e9};
  r.executed_flops = Flops{16e9};
  for (int i = 0; i < 3; ++i) {
    TrainStep s{.index = i, .loss = 5.0 - i, .learning_rate = 1e-3, .tokens = 1024};
    // The first step is slow, and warms up.
    s.wall = i == 0 ? Ns{400'000'000} : Ns{100'000'000};
    s.ranks = {rank_step(90'000'000, 9'000'000, 1'000'001),
               rank_step(80'000'000, 18'000'000, 2'000'000)};
    r.steps.push_back(s);
  }
  return r;
}

TEST(TrainReport, RatesLeaveTheFirstStepOut) {
  const TrainRates rates = train_rates(run());
  EXPECT_DOUBLE_EQ(rates.step_ns, 100e6);
  EXPECT_DOUBLE_EQ(rates.tokens_per_second, 10240);
  EXPECT_DOUBLE_EQ(*rates.mfu, 12e9 / (2 * 100e9 * 0.1));
  EXPECT_DOUBLE_EQ(*rates.hfu, 16e9 / (2 * 100e9 * 0.1));
}

TEST(TrainReport, AStepsMeanBudgetSumsToItsMeanWall) {
  const Json tree = train_tree(run());
  for (const Json& step : tree["steps"]) {
    std::int64_t sum = 0;
    for (const auto& [name, value] : step["budget_ns"].items()) sum += value.get<std::int64_t>();
    EXPECT_EQ(sum, 100'000'001);  // the mean of two ranks is half a nanosecond more: rounded up
  }
  EXPECT_EQ(tree["rank_steps"].size(), 6U);
  EXPECT_EQ(tree["steps"].size(), 3U);
}

TEST(TrainReport, SaysTheAnswerFirst) {
  const std::string text = train_text(run());
  EXPECT_NE(text.find("A step takes 100 ms: 10.2 k tokens/s, 60.0 % of the f32 peak of 2 cores"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("HFU 80.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("loss 5.000 → 3.000 in 3 steps"), std::string::npos) << text;
  EXPECT_NE(text.find("waiting for peers"), std::string::npos) << text;
}

TEST(TrainReport, WithoutStepsOrPeakNothingIsInvented) {
  TrainReport r;
  EXPECT_EQ(train_sentence(r), "No step was completed.");
  EXPECT_FALSE(train_rates(r).mfu);
  EXPECT_TRUE(train_tree(r)["mfu"].is_null());
  r = run();
  r.peak.reset();
  EXPECT_EQ(train_text(r).find("MFU"), std::string::npos);
}

TEST(TrainReport, TablesHaveARowAStepAndRank) {
  const std::vector<CsvFile> files = train_csv(run());
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].name, "steps.csv");
  EXPECT_EQ(std::ranges::count(files[0].text, '\n'), 4);
  EXPECT_EQ(files[1].name, "rank_steps.csv");
  EXPECT_EQ(std::ranges::count(files[1].text, '\n'), 7);
}

}  // namespace
}  // namespace stepscope
