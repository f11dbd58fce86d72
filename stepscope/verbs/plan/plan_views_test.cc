// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/plan/plan_views.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/say/say.h"
#include "stepscope/verbs/plan/plan_test_results.h"

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

using namespace test;

TEST(PlanJson, CountsWhatWasRejectedToTheLastOne) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  const Json tree = plan_tree(s.report);
  std::int64_t sum = tree["feasible"].get<std::int64_t>();
  for (const auto& [reason, count] : tree["rejected"].items()) sum += count.get<std::int64_t>();
  EXPECT_EQ(sum, tree["candidates"].get<std::int64_t>());
}

TEST(PlanJson, HasTheGainsOverThePlanOfOnesOwn) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2.9, 1.6)};
  const Json tree = plan_tree(s.report)["against"][0];
  EXPECT_EQ(tree["label"], "tp=4");
  EXPECT_EQ(tree["faster_plans"], 12'345);
  EXPECT_EQ(tree["gains"][0]["term"], "bubble");
  double gains = 0;
  for (const Json& g : tree["gains"]) gains += g["ns"].get<double>();
  EXPECT_NEAR(gains, 1e9, 1);
}

TEST(PlanJson, HoldsThePlanOfOnesOwnAgainstTheFastestOnAsManyDevices) {
  Searched s;
  FoundPlan larger = found_plan(8, 1, 0.5);
  larger.plan.devices = 128;
  s.report.request.devices = {64, 128};
  s.report.found.best = {larger, found_plan(8, 3, 0.5)};
  s.report.found.by_devices = {found_plan(8, 3, 0.5), larger};
  s.report.against = {own_plan(4, 3, 1)};
  EXPECT_EQ(plan_tree(s.report)["against"][0]["gains"].size(), 1U);
}

TEST(PlanJson, SaysWhetherThePlanOfOnesOwnFits) {
  Searched s;
  s.report.machine.memory = Bytes{43'000'000'000};
  s.report.request.memory_headroom = 0.1;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2, 0.5), own_plan(4, 3, 0.5)};
  s.report.against[0].cost->memory.bytes[0] = 45e9;
  const Json tree = plan_tree(s.report);
  EXPECT_FALSE(tree["against"][0]["fits"].get<bool>());
  EXPECT_TRUE(tree["against"][1]["fits"].get<bool>());
  EXPECT_FALSE(tree["against"][1]["allowed"].get<bool>());
}

TEST(PlanJson, HasNullForWhatIsNot) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against.push_back(cannot_run());
  EXPECT_TRUE(plan_tree(s.report)["against"][0]["step_time_ns"].is_null());
  s.report.found.best.clear();
  s.report.found.smallest_devices = 256;
  EXPECT_EQ(plan_tree(s.report)["smallest_devices"], 256);
}

std::string file_of(const std::vector<CsvFile>& files, std::string_view name) {
  const auto at = std::ranges::find(files, name, &CsvFile::name);
  return at == files.end() ? std::string() : at->text;
}

TEST(Tables, PlansHaveTheirTablesWithAllOfAPlan) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.found.pareto = s.report.found.best;
  s.report.against.push_back(cannot_run());
  s.report.against.push_back(own_plan(4, 2.9, 1.5));
  const auto files = csv_files(plan_tables(plan_tree(s.report)));
  EXPECT_NE(file_of(files, "plans.csv").find("plan.tp,"), std::string::npos);
  EXPECT_NE(file_of(files, "plans.csv").find("terms_ns.bubble,"), std::string::npos);
  EXPECT_NE(file_of(files, "rejected.csv").find("does not fit in memory,234567\r\n"),
            std::string::npos);
  // The first own plan has no figures; the second one's have their columns all the same.
  EXPECT_NE(file_of(files, "against.csv").find("terms_ns.bubble"), std::string::npos);
  EXPECT_EQ(file_of(files, "by_devices.csv"), "");
}

using namespace test;

TEST(PlanText, SaysTheBestPlanAndWhyItWins) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5), found_plan(4, 2.9, 1.5)};
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

TEST(PlanText, CountsToTheLastOne) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  const std::string text = plan_text(s.report);
  EXPECT_NE(text.find("1,234,567 plans"), std::string::npos) << text;
  EXPECT_NE(text.find("does not fit in memory"), std::string::npos) << text;
}

TEST(PlanText, ShowsPlansOfOnesOwn) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  s.report.against = {own_plan(4, 2.9, 1.6), cannot_run()};
  const std::string text = plan_text(s.report);
  EXPECT_LT(text.find("tp=4 takes 4.50 s"), text.find("pipeline bubble  ")) << text;
  EXPECT_NE(text.find("tp=7 cannot run: 7 does not divide 64."), std::string::npos) << text;
}

TEST(PlanText, NamesTheFlagsThatTheSearchDoesNotTry) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  Plan& best = s.report.found.best.front().plan;
  s.report.machine.peak_rates[static_cast<std::size_t>(Dtype::fp8)] = FlopRate{2e15};
  best.tp = best.ep = 8;
  EXPECT_NE(plan_text(s.report).find("Not searched, and may be faster: --dtype fp8, --ep-overlap, "
                                     "--narrow-dispatch, --tp-overlap."),
            std::string::npos)
      << plan_text(s.report);
  best.precision.matmul = Dtype::fp8;
  best.overlap.tensor = true;
  best.ep = 1;
  EXPECT_EQ(plan_text(s.report).find("Not searched"), std::string::npos);
}

TEST(PlanText, SaysThatNothingFitsWithoutOffloading) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5)};
  constexpr std::string_view said = "No plan with all states on the devices fits in ";
  EXPECT_EQ(plan_text(s.report).find(said), std::string::npos);
  s.report.found.offload_searched = true;
  EXPECT_NE(plan_text(s.report).find(said), std::string::npos);
  s.report.request.offload = true;  // asked for: the others were not searched alone
  EXPECT_EQ(plan_text(s.report).find(said), std::string::npos);
}

TEST(PlanText, MarksNearTies) {
  Searched s;
  s.report.found.best = {found_plan(8, 3, 0.5), found_plan(4, 3, 0.55)};
  for (FoundPlan& p : s.report.found.best) p.near_tie = true;
  s.report.request.model_error = 0.05;
  EXPECT_NE(plan_text(s.report).find("≈: within the model's error (5.0 %)"), std::string::npos);
}

TEST(PlanText, SaysThatNothingFits) {
  Searched s;
  s.report.found.smallest_devices = 256;
  EXPECT_NE(plan_text(s.report).find("Nothing fits"), std::string::npos);
}

}  // namespace

}  // namespace stepscope
