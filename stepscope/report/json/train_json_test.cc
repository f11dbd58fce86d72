// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/train_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/train/train_test_result.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/analyze_json.h"

namespace stepscope {
namespace {

TEST(TrainJson, AStepsMeanBudgetSumsToItsMeanWall) {
  const Json tree = train_tree(train_test::run());
  for (const Json& step : tree["steps"]) {
    std::int64_t sum = 0;
    for (const auto& [name, value] : step["budget_ns"].items()) sum += value.get<std::int64_t>();
    EXPECT_EQ(sum, 100'000'001);  // the mean of two ranks is half a nanosecond more: rounded up
  }
  EXPECT_EQ(tree["rank_steps"].size(), 6U);
  EXPECT_EQ(tree["steps"].size(), 3U);
}

TEST(TrainJson, WithoutStepsOrPeakNothingIsInvented) {
  EXPECT_TRUE(train_tree({})["mfu"].is_null());
  EXPECT_TRUE(train_tree({})["stats"].is_null());
}

TEST(TrainJson, HasTheVerdictOfAnalyzeAndItsSteps) {
  TrainResult r = train_test::run();
  EXPECT_TRUE(train_tree(r)["answer"]["verdict"].is_null());
  EXPECT_TRUE(train_tree(r)["answer"]["verdict_steps"].is_null());
  EXPECT_TRUE(train_tree(r)["answer"]["no_verdict"].is_null());
  r.verdict.why_none = msg::plain("too few steps");
  EXPECT_EQ(train_tree(r)["answer"]["no_verdict"], "too few steps");
  r.verdict = {.first_step = 3, .last_step = 7};
  r.verdict.culprits.push_back({.kind = CulpritKind::late_host,
                                .ranks = {1},
                                .gain = Ns{5},
                                .sentence = msg::plain("Late")});
  const Json answer = train_tree(r)["answer"];
  EXPECT_EQ(answer["verdict"], verdict_json(r.verdict.culprits));
  EXPECT_EQ(answer["verdict"]["kind"], "late_host");
  EXPECT_EQ(answer["verdict_steps"], Json::array({3, 7}));
}

TEST(TrainJson, MeansAreOfTheStepsAfterTheFirst) {
  const Json means = train_tree(train_test::run())["means"];
  ASSERT_EQ(means["ranks"].size(), 2U);
  EXPECT_EQ(means["ranks"][0]["steps"], 2);
  EXPECT_EQ(means["ranks"][1]["wall_ns"], 100'000'000);
  EXPECT_EQ(means["ranks"][1]["budget_ns"]["comm_exposed_wait"], 18'000'000);
  EXPECT_EQ(means["budget_ns"]["comm_exposed_wait"], 13'500'000);
  std::int64_t sum = 0;
  for (const auto& [name, ns] : means["phases_ns"].items()) sum += ns.get<std::int64_t>();
  EXPECT_EQ(sum, 100'000'001);
  EXPECT_EQ(train_tree({})["means"]["ranks"].size(), 0U);
}

TEST(TrainJson, APageOfManyStepsKeepsTheLongestOfEachFew) {
  TrainResult r = train_test::run();
  const TrainStep step = r.steps.back();
  r.steps.clear();
  for (int i = 0; i < 2500; ++i) {
    r.steps.push_back(step);
    r.steps.back().index = i;
    if (i == 1001) r.steps.back().wall *= 3;
  }
  const Json page = train_page_tree(train_tree(r));
  EXPECT_EQ(page["drawn"], (Json{{"of_steps", 2500}, {"every", 3}}));
  ASSERT_EQ(page["steps"].size(), 834U);
  EXPECT_EQ(page["rank_steps"].size(), 2 * 834U);
  EXPECT_EQ(page["steps"][333]["index"], 1001);  // of 999, 1000 and 1001
  EXPECT_FALSE(page["steps"][0]["budget_ns"].contains("idle_data"));
  EXPECT_EQ(page["means"]["ranks"][0]["steps"], 2499);
  const Json few = train_page_tree(train_tree(train_test::run()));
  EXPECT_EQ(few["drawn"]["every"], 1);
  EXPECT_EQ(few["steps"].size(), 3U);
  EXPECT_EQ(train_page_tree(train_tree({}))["steps"].size(), 0U);
}

TEST(TrainJson, TelemetrysExportStaysAsItIs) {
  TrainResult result = train_test::run();
  result.stats = PerformanceSummary{.ranks = 2, .forward_passes = 3};
  EXPECT_EQ(train_tree(result)["stats"]["forward_passes"], 3);
}

TEST(TrainJson, IsolationAddsUpForEachRankAndForTheMean) {
  const TrainIsolation isolation = train_test::isolation();
  const Json json = isolation_tree(isolation);
  EXPECT_EQ(json["steps"], 12);
  EXPECT_EQ(json["both"]["mean_ns"], 100'000'000);
  EXPECT_EQ(json["compute"]["mean_ns"], 70'000'000);
  EXPECT_EQ(json["exposed"]["mean_ns"], 22'500'000);
  EXPECT_EQ(json["hidden_ns"], 7'500'000);
  EXPECT_EQ(json["contention_ns"], 7'500'000);
  EXPECT_EQ(json["ranks"][0]["hidden_ns"], 20'000'000);
  EXPECT_EQ(json["ranks"][0]["contention_ns"], 10'000'001);
  EXPECT_EQ(json["ranks"][1]["hidden_ns"], -5'000'000);
  EXPECT_EQ(json["ranks"][1]["contention_ns"], 5'000'000);
}

TEST(TrainCsv, TablesHaveARowPerStepAndRank) {
  const std::vector<CsvFile> files = csv_files(train_tables(train_tree(train_test::run())));
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].name, "steps.csv");
  EXPECT_EQ(std::ranges::count(files[0].text, '\n'), 4);
  EXPECT_EQ(files[1].name, "rank_steps.csv");
  EXPECT_EQ(std::ranges::count(files[1].text, '\n'), 7);
}

}  // namespace
}  // namespace stepscope
