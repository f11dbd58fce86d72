// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "engine/train/train_test_result.h"
#include "stepscope/verbs/analyze/analyze_json.h"

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
  EXPECT_EQ(json["possible"], true);
  EXPECT_DOUBLE_EQ(json["hidden_share"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(json["overlap_efficiency"].get<double>(), 0.25);
  EXPECT_EQ(json["ranks"][0]["hidden_ns"], 20'000'000);
  EXPECT_EQ(json["ranks"][0]["contention_ns"], 10'000'001);
  EXPECT_EQ(json["ranks"][1]["hidden_ns"], -5'000'000);
  EXPECT_EQ(json["ranks"][1]["contention_ns"], 5'000'000);
}

TEST(TrainTables, TablesHaveARowPerStepAndRank) {
  const std::vector<CsvFile> files = csv_files(train_tables(train_tree(train_test::run())));
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].name, "steps.csv");
  EXPECT_EQ(std::ranges::count(files[0].text, '\n'), 4);
  EXPECT_EQ(files[1].name, "rank_steps.csv");
  EXPECT_EQ(std::ranges::count(files[1].text, '\n'), 7);
}

// The tables of the screen are files, too.
TEST(TrainTables, PassesLayersAndReferencesAreTables) {
  TrainResult r = train_test::run();
  PerformanceSummary stats{.ranks = 2};
  stats.layers["block 0"] = {.forward_count = 4, .recompute_count = 4};
  stats.references.collectives = {
      {.group = "world", .kind = CollectiveKind::all_gather, .link = {Seconds{2e-6}, {3e9}}}};
  stats.references.transfers[slot(TransferDirection::nvme_to_host)] =
      LinkReference{.start = {}, .rate = {5e8}};
  r.stats = stats;
  std::map<std::string, std::string> files;
  for (const CsvFile& file : csv_files(train_tables(train_tree(r)))) files[file.name] = file.text;
  EXPECT_TRUE(files["passes.csv"].starts_with("name,count,items,total_ns,mean_ns"));
  EXPECT_EQ(std::ranges::count(files["passes.csv"], '\n'), 4);
  EXPECT_TRUE(files["layers.csv"].starts_with("name,forward_count,"));
  EXPECT_NE(files["layers.csv"].find("recompute_mean_ns"), std::string::npos);
  EXPECT_EQ(std::ranges::count(files["references.csv"], '\n'), 3);
  EXPECT_NE(files["references.csv"].find("nvme_to_host"), std::string::npos);
}

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
  const std::string text = isolation_text(train_test::isolation(), 400);
  EXPECT_NE(text.find("Overlap hides 25.0 % of the communication, and 25.0 % of what could be "
                      "hidden (overlap efficiency)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("computation takes 10.7 % longer than alone"), std::string::npos) << text;
  EXPECT_NE(text.find("computes 80.0 ms alone"), std::string::npos) << text;
  TrainIsolation waiting = train_test::isolation();
  for (TrainIsolation::Rank& rank : waiting.ranks) {
    rank.exposed = Ns{40'000'000};
    rank.both += Ns{12'000'000};
  }
  const std::string waits = isolation_text(waiting, 200);
  EXPECT_NE(waits.find("hides nothing"), std::string::npos) << waits;
  EXPECT_NE(waits.find("10.0 ms longer than the communication"), std::string::npos) << waits;
  EXPECT_NE(waits.find("takes 2.9 % longer than alone"), std::string::npos) << waits;
}

TEST(TrainText, ImpossibleIsolationIsNoise) {
  TrainIsolation noisy = train_test::isolation();
  for (TrainIsolation::Rank& rank : noisy.ranks) rank.exposed = Ns{40'000'000};
  const std::string text = isolation_text(noisy, 200);
  EXPECT_NE(text.find("The rounds are too noisy to tell what overlap hides: during communication, "
                      "computation takes 14.3 % less than alone, which is impossible"),
            std::string::npos)
      << text;
  EXPECT_TRUE(isolation_tree(noisy)["overlap_efficiency"].is_null());
  TrainIsolation more = train_test::isolation();
  for (TrainIsolation::Rank& rank : more.ranks) {
    rank.exposed = Ns{};
    rank.communication = Ns{90'000'000};
  }
  EXPECT_NE(isolation_text(more, 200).find("more is hidden than the shorter of both takes alone"),
            std::string::npos);
}

TEST(TrainText, OverlapHidesAtMostAllThatThereIs) {
  TrainIsolation noisy = train_test::isolation();
  for (TrainIsolation::Rank& rank : noisy.ranks)
    rank = {.both = Ns{30'200'000}, .compute = Ns{30'000'000}, .communication = Ns{30'200'000}};
  const std::string text = isolation_text(noisy, 400);
  EXPECT_NE(text.find("Overlap hides 100.0 % of the communication, and 100.0 % of what could be"),
            std::string::npos)
      << text;
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
  stats.layers["f"].average_recompute_time = Ns{700};
  stats.communication.efficiency = 0.5;
  result.stats = stats;
  const std::string text = train_text(result, {.width = 100});
  EXPECT_NE(text.find("  forward     24  3.00 ms   2.00 ms  2.50 ms  4.00 ms  5.00 ms  6.00 ms"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("backward      "), std::string::npos);  // no such pass was recorded
  EXPECT_NE(text.find("The 5 longest of 6 layers, mean of a pass:"), std::string::npos);
  EXPECT_EQ(text.find("\n  a "), std::string::npos);
  EXPECT_NE(text.find("Efficiency: communication against the measured links 50.0 %\n"),
            std::string::npos);
  EXPECT_NE(text.find("Gradient synchronization takes 2.00 ms per rank over all steps, as a sum of "
                      "calls"),
            std::string::npos);
}

}  // namespace

}  // namespace stepscope
