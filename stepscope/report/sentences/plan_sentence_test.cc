// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/plan_sentence.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/report/sentences/verb_test_results.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using namespace test;

TEST(PlanSentence, SaysTheBestPlan) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  EXPECT_TRUE(
      say(plan_sentence(s.report)).starts_with("The fastest plan takes 3.50 s a step: 40.0 % MFU"));
}

TEST(PlanSentence, SuggestsTheSmallestCountWhereNothingFits) {
  Searched s;
  s.report.found.smallest_devices = 256;
  EXPECT_EQ(say_stopped(plan_sentence(s.report)), "Nothing fits; 256 devices would be enough.");
}

TEST(PlanSentence, SaysWhyThePlanOfOnesOwnIsSlower) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2.9, 1.6)};
  EXPECT_EQ(say_stopped(against_sentence(s.report, s.report.against[0])),
            "tp=4 takes 4.50 s a step, 40.0 % MFU, in 40.0 GB. 12,345 plans that fit are faster. "
            "The fastest plan saves 1.00 s (22.2 %): 1.10 s of pipeline bubble; it spends 100 ms "
            "more on matrix products.");
}

TEST(PlanSentence, SaysWhetherThePlanOfOnesOwnFits) {
  Searched s;
  s.report.machine.memory = Bytes{43'000'000'000};
  s.report.request.memory_headroom = 0.1;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2, 0.5), own_plan(4, 3, 0.5), own_plan(4, 2, 1)};
  s.report.against[0].cost->memory.bytes[0] = 45e9;
  const auto said = [&s](std::size_t i) {
    return say_stopped(against_sentence(s.report, s.report.against[i]));
  };
  EXPECT_NE(said(0).find("does not fit, each device lacks 2.00 GB"), std::string::npos) << said(0);
  EXPECT_NE(said(0).find("It is 1.00 s faster than the fastest plan that the search may take: "
                         "1.00 s of matrix products."),
            std::string::npos)
      << said(0);
  EXPECT_NE(said(1).find("leaves less than the 10.0 %"), std::string::npos) << said(1);
  EXPECT_NE(said(1).find("It is the fastest plan."), std::string::npos) << said(1);
}

TEST(PlanSentence, HoldsThePlanOfOnesOwnAgainstTheFastestOnAsManyDevices) {
  Searched s;
  FoundPlan larger = found_plan(8, 1, 0.5);
  larger.plan.devices = 128;
  s.report.request.devices = {64, 128};
  s.report.found.best = {larger, found_plan(8, 3, 0.5)};
  s.report.found.by_devices = {found_plan(8, 3, 0.5), larger};
  s.report.against = {own_plan(4, 3, 1)};
  EXPECT_NE(say_stopped(against_sentence(s.report, s.report.against[0]))
                .find("The fastest plan on 64 saves 500 ms (12.5 %): 500 ms of pipeline bubble."),
            std::string::npos);
}

TEST(PlanSentence, TermsSumToTheDifferenceOfTheSteps) {
  const StepCost fast = found_plan(8, 3, 0.5).cost;
  const StepCost slow = found_plan(4, 2.9, 1.5).cost;
  double sum = 0;
  for (const TermGain& g : term_gains(fast, slow)) sum += g.seconds;
  EXPECT_NEAR(sum, slow.step().count() - fast.step().count(), 1e-12);
  EXPECT_TRUE(term_gains(fast, fast).empty());
}

TEST(PredictSentence, SaysWhatDoesNotFit) {
  Predicted p;
  EXPECT_EQ(say(predict_sentence(p.report)).find("does not fit"), std::string::npos);
  p.report.cost.memory.bytes[0] = 100e9;
  EXPECT_NE(say(predict_sentence(p.report)).find("It does not fit: each device lacks 20.0 GB"),
            std::string::npos);
  p.report.cost.memory.bytes[0] = 50e9;
  p.report.cost.memory.host_bytes = 300e9;
  p.report.machine.host = Host{};
  p.report.machine.host->memory = Bytes{250'000'000'000};
  EXPECT_NE(say(predict_sentence(p.report)).find("each device lacks 50.0 GB of host memory"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
