// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/train_text.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/train/train_test_result.h"

namespace stepscope {
namespace {

TEST(TrainText, SaysTheAnswerFirst) {
  const std::string text = train_text(train_test::run());
  EXPECT_NE(text.find("A step takes 100 ms: 10.2 k tokens/s, 60.0 % of the f32 peak of 2 cores"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("HFU 80.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("loss 5.000 → 3.000 in 3 steps"), std::string::npos) << text;
  EXPECT_NE(text.find("waiting for peers"), std::string::npos) << text;
}

TEST(TrainText, WithoutStepsOrPeakNothingIsInvented) {
  EXPECT_NE(train_text({}).find("No step was completed."), std::string::npos);
  TrainResult r = train_test::run();
  r.peak.reset();
  EXPECT_EQ(train_text(r).find("MFU"), std::string::npos);
}

TEST(TrainText, StatesTheVerdictOfTheRecordedSteps) {
  TrainResult r = train_test::run();
  const auto said = [&](std::string_view what) {
    return train_text(r).find(what) != std::string::npos;
  };
  r.verdict = {.first_step = 3, .last_step = 7};
  r.verdict.culprits.push_back({.kind = CulpritKind::data_loader,
                                .ranks = {1},
                                .sentence = msg::plain("The data loader of rank 1 takes long")});
  EXPECT_TRUE(said("Steps 3–7: The data loader of rank 1 takes long."));
  r.verdict.culprits = {{.kind = CulpritKind::compute_bound}};
  EXPECT_TRUE(said("Steps 3–7: no rank stands out."));
  r.setup.ranks = 1;
  EXPECT_FALSE(said("Steps 3–7"));
  r.verdict = {.why_none = msg::plain("fewer than three steps were recorded")};
  EXPECT_TRUE(said("No verdict: fewer than three steps were recorded."));
}

TEST(TrainText, SaysTheIsolationInWords) {
  const std::string text = isolation_text(train_test::isolation(), 200);
  EXPECT_NE(text.find("Overlap hides 25.0 % of the communication"), std::string::npos) << text;
  EXPECT_NE(text.find("computation takes 10.7 % longer than alone"), std::string::npos) << text;
  EXPECT_NE(text.find("computes 80.0 ms alone"), std::string::npos) << text;
  TrainIsolation waiting = train_test::isolation();
  for (TrainIsolation::Rank& rank : waiting.ranks) rank.exposed = Ns{40'000'000};
  const std::string waits = isolation_text(waiting, 200);
  EXPECT_NE(waits.find("hides nothing"), std::string::npos) << waits;
  EXPECT_NE(waits.find("10.0 ms longer than the communication"), std::string::npos) << waits;
  EXPECT_NE(waits.find("takes 14.3 % less than alone"), std::string::npos) << waits;
}

TEST(TrainText, StatisticsShowPassesLayersAndEfficiencies) {
  TrainResult result;
  PerformanceSummary stats{.gradient_sync_time = Ns{2'000'000}};
  stats.passes[slot(TrainingPass::forward)] = {.count = 24,
                                               .mean = Ns{3'000'000},
                                               .min = Ns{2'000'000},
                                               .p50 = Ns{2'500'000},
                                               .p90 = Ns{4'000'000},
                                               .p99 = Ns{5'000'000},
                                               .max = Ns{6'000'000}};
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    stats.layers[name] = {.total_forward_time = Ns{*name}, .average_forward_time = Ns{1000}};
  stats.communication.efficiency = 0.5;
  result.stats = stats;
  const std::string text = train_text(result, {.width = 100});
  EXPECT_NE(text.find("  forward     24  3.00 ms   2.00 ms  2.50 ms  4.00 ms  5.00 ms  6.00 ms"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("backward      "), std::string::npos);  // no such pass was recorded
  EXPECT_NE(text.find("The 5 longest of 6 layers:"), std::string::npos);
  EXPECT_EQ(text.find("\n  a "), std::string::npos);
  EXPECT_NE(text.find("Efficiency: communication against the measured links 50.0 %\n"),
            std::string::npos);
  EXPECT_NE(
      text.find(
          "Gradient synchronization takes 2.00 ms per rank over all steps, overlapped or not."),
      std::string::npos);
}

}  // namespace
}  // namespace stepscope
