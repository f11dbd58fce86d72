// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/warnings.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/say/import_words.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

std::vector<std::string> warnings_of(const TestReport& t) {
  return say_all(analyze_warnings(t.report, std::nullopt));
}

// The only warning that has the text, or empty.
std::string with(const std::vector<std::string>& warnings, std::string_view what) {
  std::string found;
  for (const std::string& w : warnings)
    if (w.find(what) != std::string::npos) found = found.empty() ? w : "several: " + w;
  return found;
}

TestReport& complete(TestReport& t) {
  t.record_everything();
  return t;
}

TEST(Warnings, ARunRecordedWithEverythingHasNone) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  EXPECT_EQ(warnings_of(complete(t)), std::vector<std::string>{});
}

TEST(Warnings, EverythingThatWasNotRecordedIsOneLineWithItsSwitches) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  t.rank(0).steps.front().name = "window";
  t.rank(0).recording.loose_rows = t.rank(0).recording.device_rows;
  const auto warnings = warnings_of(t);
  ASSERT_EQ(warnings.size(), 1U);
  for (const char* needed :
       {"record_shapes=True", "profile_memory=True", "profiler.step()",
        "enable_cuda_sync_events=True", "ProfilerActivity.CPU", "docs/how-to/record-a-trace.md"})
    EXPECT_NE(warnings[0].find(needed), std::string::npos) << needed;
}

TEST(Warnings, MessagesBetweenStagesWithoutABubbleSayWhy) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t);
  Collectives& collectives = t.job.collectives;
  collectives.dimension_of = {Dimension::pp};
  collectives.matches.ranks.resize(1);
  CollectiveCall& call = collectives.matches.ranks[0].calls.emplace_back();
  call.kind = CollectiveKind::recv;
  call.group = 0;
  const auto note = [&] { return with(warnings_of(t), "no bubble of the pipeline: "); };
  EXPECT_TRUE(note().ends_with("no message between its stages lies in the recorded steps"));
  call.step = 0;
  EXPECT_NE(note().find("is not known; record all ranks with record_shapes=True"),
            std::string::npos);
  call.edge_count = 1;
  EXPECT_TRUE(note().ends_with(
      "no recorded step shows messages from stage to stage together with the compute between "
      "them"));
  t.job.pipeline = test::two_stages();
  EXPECT_EQ(note(), "");
}

TEST(Warnings, SizesFromNamesOfRangesAreNamedAndSoIsAContradiction) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t);
  t.job.collectives.matches.ranks.resize(2);
  RankCalls& rank = t.job.collectives.matches.ranks[1];
  rank.calls.resize(3);
  EXPECT_EQ(warnings_of(t), std::vector<std::string>{});
  rank.calls[0].bytes_by_range = rank.calls[2].bytes_by_range = true;
  rank.other_sizes = {.calls = 1, .range = "AllReduce_1_100.0MB", .recorded = Bytes{104'857'600}};
  EXPECT_EQ(with(warnings_of(t), "from the name"),
            "the sizes of 2 collectives are from the names of ranges: the trace records no other");
  EXPECT_EQ(with(warnings_of(t), "another size"),
            "1 collective recorded another size than the name of the range around it, which does "
            "not count (the first: AllReduce_1_100.0MB, recorded 105 MB)");
}

TEST(Warnings, ACpuRunIsNotAskedForDeviceRows) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  t.rank(0).device.kind = "cpu";
  const auto warnings = warnings_of(t);
  EXPECT_EQ(with(warnings, "sync_events"), "");
  EXPECT_EQ(with(warnings, "ProfilerActivity"), "");
  EXPECT_NE(with(warnings, "record_shapes=True"), "");
}

TEST(Warnings, AnotherVendorsDeviceIsNotAskedForCudaRows) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  t.rank(0).device.kind = "rocm";
  EXPECT_EQ(with(warnings_of(t), "enable_cuda_sync_events"), "");
}

TEST(Warnings, LaunchesWithoutADeviceAskForTheDevice) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).rank(0).recording.device_rows = 0;
  t.rank(0).recording.lost_launches = 3;
  EXPECT_NE(with(warnings_of(t), "ProfilerActivity.CUDA"), "");
}

TEST(Warnings, AStepAnnotationThatIsNotThereIsSaid) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).rank(0).steps.front().name = "window";
  t.report.step_annotation = "train_step";
  const auto warnings = warnings_of(t);
  EXPECT_NE(with(warnings, "\"train_step\" (--step-annotation)"), "");
  EXPECT_EQ(with(warnings, "profiler.step()"), "");
}

TEST(Warnings, DamageIsSaidInWordsWithItsCountOverAllFiles) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t);
  t.report.inputs.front().notes = {{"negative_duration", 2}, {"something_new", 1}};
  t.report.inputs.push_back(t.report.inputs.front());
  const auto warnings = warnings_of(t);
  EXPECT_NE(with(warnings, "events that end before they begin: 4; their time counts as none"), "");
  EXPECT_NE(with(warnings, "something_new (2 times)"), "");
}

TEST(Warnings, AbsentRanksAskForTheirTraces) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).report.world_size = 8;
  EXPECT_EQ(with(warnings_of(t), "of 8 ranks"), "");
  t.job.collectives.rows.emplace_back();
  EXPECT_NE(with(warnings_of(t), "the traces of 1 of 8 ranks are here"), "");
}

TEST(Warnings, RanksThatWereGivenAndNotAskedForAreToBeAskedFor) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).report.world_size = t.job.collectives.matches.world_size = 8;
  t.job.collectives.rows.emplace_back();
  t.job.collectives.matches.left_out = 7;
  EXPECT_TRUE(
      with(warnings_of(t), "only 1 of 8 ranks are asked for").ends_with("leave --ranks out"));
  t.job.collectives.matches.left_out = 3;
  EXPECT_TRUE(with(warnings_of(t), "only 1 of 8 ranks are asked for")
                  .ends_with("leave --ranks out and give the traces of all ranks"));
}

TEST(Warnings, ALinkThatRestsOnUnknownHostsIsNamed) {
  TestReport t({{{BudgetCategory::compute, 100}}, {{BudgetCategory::compute, 100}}});
  complete(t).report.machine = *machine_named("a100_sxm_80gb");
  t.report.world_size = 2;
  CollectiveRow& row = t.job.collectives.rows.emplace_back();
  row.group = "dp";
  row.groups = {0};
  row.busbw = ByteRate{10e9};
  t.job.collectives.matches.groups = {{.name = "dp", .description = {}, .ranks = {0, 1}}};
  EXPECT_NE(with(warnings_of(t), "within domains of 8 GPUs of A100-80GB SXM"), "");
  t.job.collectives.matches.hosts = {.of_rank = {{0, {.host = 0}}, {1, {.host = 1}}}, .most = 1};
  EXPECT_EQ(with(warnings_of(t), "no trace names"), "");
}

TEST(Warnings, ClocksThatDoNotCompareAreSaidOfSeveralRanksOnly) {
  TestReport two({{{BudgetCategory::compute, 100}}, {{BudgetCategory::compute, 100}}});
  complete(two).job.collectives.matches.clocks_comparable = false;
  EXPECT_NE(with(warnings_of(two), "not comparable"), "");
  TestReport one({{{BudgetCategory::compute, 100}}});
  complete(one).job.collectives.matches.clocks_comparable = false;
  EXPECT_EQ(warnings_of(one), std::vector<std::string>{});
}

TEST(Warnings, MissingStepsAreCountedInTheRightNumber) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).job.steps.missing = {{1, 4}};
  EXPECT_NE(with(warnings_of(t), "1 step is missing on some rank and stays out"), "");
  t.job.steps.missing.push_back({1, 5});
  EXPECT_NE(with(warnings_of(t), "2 steps are missing on some rank and stay out"), "");
}

TEST(Warnings, ShiftedCapturesAndContradictionsAreToldApart) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  auto& mismatches = complete(t).job.collectives.matches.mismatches;
  mismatches.push_back({"0", std::nullopt, {2}, msg::calls_realigned(2, Value()), true});
  auto warnings = warnings_of(t);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(with(warnings, "rank 2 lacks some of the first or last"), "");
  mismatches.push_back({"7", 3, {1}, msg::differs_between_ranks("count")});
  warnings = warnings_of(t);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(with(warnings,
                 "1 collective does not match across ranks; group 7, call 3, rank 1: "
                 "count differs between the ranks"),
            "");
}

TEST(Warnings, WhyThereIsNoMfuIsSaidOnce) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t);
  const auto warnings = say_all(analyze_warnings(
      t.report, Error{.what = "no peak is known for a CPU", .hint = "give --peak-tflops N"}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("no MFU: "));
  EXPECT_NE(warnings[0].find("--peak-tflops"), std::string::npos);
}

TEST(Warnings, TheMfuBudgetsOwnRepeatNothing) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).report.mfu.emplace();
  t.report.mfu->warnings = {msg::mfu_without_shapes(), msg::mfu_bubble_unknown(),
                            msg::mfu_of_some_ranks(1, 8), msg::mfu_without_model(),
                            msg::mfu_beyond_peak()};
  EXPECT_EQ(analyze_warnings(t.report, {}),
            (Messages{msg::mfu_without_model(), msg::mfu_beyond_peak()}));
}

TEST(Warnings, RanksNumberedByOrderAreSaid) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  complete(t).report.inputs.front().rank_source = "order";
  EXPECT_NE(with(warnings_of(t), "in the order of the files"), "");
}

TEST(Warnings, AnExportOfNsightSystemsIsAskedForItsOwnSwitches) {
  TestReport t({{{BudgetCategory::compute, 100}}});
  t.rank(0).steps.front().name = "window";
  t.rank(0).recording.format = "nsys";
  const std::string line = with(warnings_of(t), "to see more");
  for (const char* needed : {"\"iteration N\"", "emit_nvtx(record_shapes=True)",
                             "--cuda-memory-usage=true", "docs/reference/inputs.md"})
    EXPECT_NE(line.find(needed), std::string::npos) << needed;
  EXPECT_EQ(line.find("profile_memory"), std::string::npos);
}

TEST(Warnings, WhatAnExportLacksIsNoDamage) {
  EXPECT_EQ(import_note_in_words("nccl_call_without_payload", 12),
            "12 calls of NCCL have no payload, so sizes and groups of collectives are unknown: "
            "nsys export --include-blobs=true");
  EXPECT_NE(import_note_in_words("damaged_table_NVTX_EVENTS", 1).find("table NVTX_EVENTS"),
            std::string::npos);
  EXPECT_EQ(import_note_in_words("negative_duration", 3),
            "events that end before they begin: 3; their time counts as none (negative_duration)");
  EXPECT_EQ(import_note_in_words("something new", 2),
            "the input is damaged: something new (2 times)");
}

using namespace test;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(LogWarnings, WarnsOfWhatWasCut) {
  const MadeLog made;
  const auto warnings = say_all(log_warnings(made.report()));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(has(warnings[0], "2 lines that report on a step are cut"));
}

TEST(LogWarnings, SaysThatTheStepDrifts) {
  MadeLog made;
  made.account.changes.clear();
  made.account.drift = Drift{.first = 470e6, .last = 660e6, .p = 1e-9};
  const auto warnings = say_all(log_warnings(made.report()));
  EXPECT_TRUE(has(warnings.back(), "becomes 40.4 % longer from one end")) << warnings.back();
}

}  // namespace

}  // namespace stepscope
