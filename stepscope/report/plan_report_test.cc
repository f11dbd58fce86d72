// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/plan_report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/report/plan_difference.h"

namespace stepscope {
namespace {

FoundPlan found(std::int64_t tp, double matmul, double bubble) {
  FoundPlan p;
  p.plan.devices = 64;
  p.plan.tp = tp;
  p.plan.dp = 64 / tp;
  p.plan.global_batch = 64;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::matmul)] = matmul;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::bubble)] = bubble;
  p.cost.mfu[0] = 0.4;
  p.cost.memory.bytes[0] = 40e9;
  return p;
}

struct Searched {
  PlanResult report;
  Searched() {
    report.model.name = std::string("model");
    report.machine.name = std::string("machine");
    report.request.devices = {64};
    report.request.base.global_batch = 64;
    report.found.candidates = 1'234'567;
    report.found.feasible = 1'000'000;
    report.found.rejected[static_cast<std::size_t>(Rejected::memory)] = 234'567;
  }
};

TEST(PlanReport, SaysTheBestPlanAndWhyItWins) {
  Searched s;
  s.report.found.best = {found(8, 3, 0.5), found(4, 2.9, 1.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("The fastest plan takes 3.50 s a step: 40.0 % MFU"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Why it wins against TP 4"), std::string::npos) << text;
  // The larger difference first, and the one that speaks against it too.
  const std::size_t bubble = text.find("pipeline bubble");
  const std::size_t matmul = text.find("matrix products");
  ASSERT_NE(matmul, std::string::npos);
  EXPECT_LT(bubble, matmul);
  EXPECT_NE(text.find("-1.00 s", bubble), std::string::npos);
  EXPECT_NE(text.find("+100 ms", matmul), std::string::npos);
}

TEST(PlanReport, CountsWhatWasRejectedToTheLastOne) {
  Searched s;
  s.report.found.best = {found(8, 3, 0.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("1,234,567 plans"), std::string::npos) << text;
  EXPECT_NE(text.find("does not fit in memory"), std::string::npos) << text;
  const Json tree = plan_tree(s.report);
  std::int64_t sum = tree["feasible"].get<std::int64_t>();
  for (const auto& [reason, count] : tree["rejected"].items()) sum += count.get<std::int64_t>();
  EXPECT_EQ(sum, tree["candidates"].get<std::int64_t>());
}

AgainstPlan own(std::int64_t tp, double matmul, double bubble) {
  const FoundPlan p = found(tp, matmul, bubble);
  AgainstPlan own;
  own.label = "tp=4";
  own.plan = p.plan;
  own.cost = p.cost;
  own.rank.faster = 12'345;
  return own;
}

AgainstPlan cannot_run() {
  AgainstPlan own;
  own.label = "tp=7";
  own.why_not = "7 does not divide 64";
  return own;
}

TEST(PlanReport, SaysWhyThePlanOfOnesOwnIsSlower) {
  Searched s;
  s.report.found.best = {found(8, 3, 0.5)};
  s.report.against = {own(4, 2.9, 1.6)};
  EXPECT_EQ(against_sentence(s.report, s.report.against[0]),
            "tp=4 takes 4.50 s a step, 40.0 % MFU, in 40.0 GB. 12,345 plans that fit are faster. "
            "The fastest plan saves 1.00 s (22.2 %): 1.10 s of pipeline bubble; it spends 100 ms "
            "more on matrix products.");
  const Json tree = plan_tree(s.report)["against"][0];
  EXPECT_EQ(tree["label"], "tp=4");
  EXPECT_EQ(tree["faster_plans"], 12'345);
  EXPECT_EQ(tree["gains"][0]["term"], "bubble");
  double gains = 0;
  for (const Json& g : tree["gains"]) gains += g["ns"].get<double>();
  EXPECT_NEAR(gains, 1e9, 1);
  const std::string text = plan_text(s.report);
  EXPECT_LT(text.find("tp=4 takes 4.50 s"), text.find("pipeline bubble  ")) << text;
}

TEST(PlanReport, SaysWhetherThePlanOfOnesOwnFits) {
  Searched s;
  s.report.machine.memory = Bytes{43'000'000'000};
  s.report.request.memory_headroom = 0.1;
  s.report.found.best = {found(8, 3, 0.5)};
  s.report.against = {own(4, 2, 0.5), own(4, 3, 0.5), own(4, 2, 1)};
  s.report.against[0].cost->memory.bytes[0] = 45e9;
  const auto said = [&s](std::size_t i) { return against_sentence(s.report, s.report.against[i]); };
  EXPECT_NE(said(0).find("does not fit, each device lacks 2.00 GB"), std::string::npos) << said(0);
  EXPECT_NE(said(0).find("It is 1.00 s faster than the fastest plan that the search may take: "
                         "1.00 s of matrix products."),
            std::string::npos)
      << said(0);
  EXPECT_NE(said(1).find("leaves less than the 10.0 %"), std::string::npos) << said(1);
  EXPECT_NE(said(1).find("It is the fastest plan."), std::string::npos) << said(1);
  const Json tree = plan_tree(s.report);
  EXPECT_FALSE(tree["against"][0]["fits"].get<bool>());
  EXPECT_TRUE(tree["against"][1]["fits"].get<bool>());
  EXPECT_FALSE(tree["against"][1]["allowed"].get<bool>());
}

TEST(PlanReport, HoldsThePlanOfOnesOwnAgainstTheFastestOnAsManyDevices) {
  Searched s;
  FoundPlan larger = found(8, 1, 0.5);
  larger.plan.devices = 128;
  s.report.request.devices = {64, 128};
  s.report.found.best = {larger, found(8, 3, 0.5)};
  s.report.found.by_devices = {found(8, 3, 0.5), larger};
  s.report.against = {own(4, 3, 1)};
  EXPECT_NE(against_sentence(s.report, s.report.against[0])
                .find("The fastest plan on 64 saves 500 ms (12.5 %): 500 ms of pipeline bubble."),
            std::string::npos);
  EXPECT_EQ(plan_tree(s.report)["against"][0]["gains"].size(), 1U);
}

TEST(PlanReport, ShowsAPlanThatCannotRun) {
  Searched s;
  s.report.found.best = {found(8, 3, 0.5)};
  s.report.against.push_back(cannot_run());
  EXPECT_NE(plan_text(s.report).find("tp=7 cannot run: 7 does not divide 64."), std::string::npos);
  EXPECT_TRUE(plan_tree(s.report)["against"][0]["step_time_ns"].is_null());
}

TEST(PlanDifference, TermsSumToTheDifferenceOfTheSteps) {
  const StepCost fast = found(8, 3, 0.5).cost;
  const StepCost slow = found(4, 2.9, 1.5).cost;
  double sum = 0;
  for (const TermGain& g : term_gains(fast, slow)) sum += g.seconds;
  EXPECT_NEAR(sum, slow.step().count() - fast.step().count(), 1e-12);
  EXPECT_TRUE(term_gains(fast, fast).empty());
}

TEST(PlanReport, WritesItsTablesWithAllOfAPlan) {
  Searched s;
  s.report.found.best = {found(8, 3, 0.5)};
  s.report.found.pareto = s.report.found.best;
  s.report.against.push_back(cannot_run());
  s.report.against.push_back(own(4, 2.9, 1.5));
  const auto files = plan_csv(s.report);
  const auto file = [&files](std::string_view name) {
    const auto at = std::ranges::find(files, name, &CsvFile::name);
    return at == files.end() ? std::string() : at->text;
  };
  EXPECT_NE(file("plans.csv").find("plan.tp,"), std::string::npos);
  EXPECT_NE(file("plans.csv").find("terms_ns.bubble,"), std::string::npos);
  EXPECT_NE(file("rejected.csv").find("does not fit in memory,234567\r\n"), std::string::npos);
  // The first own plan has no figures; the second one's have their columns all the same.
  EXPECT_NE(file("against.csv").find("terms_ns.bubble"), std::string::npos);
  EXPECT_EQ(file("by_devices.csv"), "");
}

TEST(PlanReport, MarksNearTies) {
  Searched s;
  s.report.found.best = {found(8, 3, 0.5), found(4, 3, 0.55)};
  for (FoundPlan& p : s.report.found.best) p.near_tie = true;
  EXPECT_NE(plan_text(s.report).find("≈: within the model's error (5.0 %)"), std::string::npos);
}

TEST(PlanReport, SuggestsTheSmallestCountWhereNothingFits) {
  Searched s;
  s.report.found.smallest_devices = 256;
  EXPECT_EQ(plan_sentence(s.report), "Nothing fits; 256 devices would be enough.");
  EXPECT_EQ(plan_tree(s.report)["smallest_devices"], 256);
  EXPECT_NE(plan_text(s.report).find("Nothing fits"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
