// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/recording_words.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

std::string said_of(const TestReport& t) {
  return say_stopped(recording_sentence(t.report.inputs, t.job));
}

TEST(RecordingWords, OfAWholeRecordingNothingIsSaid) {
  TestReport t({{{compute, 100}}});
  t.rank(0).recording.launches = 40;
  EXPECT_EQ(said_of(t), "");
  EXPECT_TRUE(lost_rows_warnings(t.job).empty());
}

TEST(RecordingWords, LostKernelsAreSaidWithTheStepsThatAreLeftOut) {
  TestReport t({{{compute, 100}}});
  RankRecording& r = t.rank(0).recording;
  r.launches = 16;
  r.lost_launches = 7;
  r.lost_steps = {0, 1};
  EXPECT_EQ(said_of(t),
            "The recording lost the kernels of 7 of 16 launches on rank 0: steps 0, 1 are left "
            "out.");
  ASSERT_EQ(lost_rows_warnings(t.job).size(), 1u);
  EXPECT_NE(say(lost_rows_warnings(t.job)[0]).find("ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB"),
            std::string::npos);
  r.lost_steps.clear();
  r.steps = {{.index = 5, .launches = 16, .lost_launches = 7, .device_rows = 9}};
  EXPECT_EQ(said_of(t),
            "The recording lost the kernels of 7 of 16 launches on rank 0: what the device did "
            "there is not known.");
}

TEST(RecordingWords, LaunchesThatHaveNotRunAreNotLost) {
  TestReport t({{{compute, 100}}});
  RankRecording& r = t.rank(0).recording;
  r.launches = 16;
  r.lost_launches = r.queued_launches = 7;
  EXPECT_EQ(said_of(t), "");
  ASSERT_EQ(lost_rows_warnings(t.job).size(), 1u);
  EXPECT_EQ(say(lost_rows_warnings(t.job)[0]),
            "7 launches of rank 0 follow all that have a row of the device, and have none: as when "
            "the recording ends before they run");
  r.lost_steps = {3};
  EXPECT_EQ(said_of(t),
            "7 of 16 launches on rank 0 have no row of the device: they follow all that have one, "
            "as when the recording ends before they run. Step 3 is left out.");
}

TEST(RecordingWords, ADeviceThatWasNotRecordedIsSaid) {
  TestReport t({{{not_recorded, 100}}});
  t.rank(0).recording.device_rows = 0;
  t.rank(0).recording.lost_launches = 3;
  EXPECT_EQ(said_of(t),
            "Rank 0 launched kernels, but the trace has no row of the device: what it did is not "
            "known.");
}

TEST(RecordingWords, RowsOfTheHostOnlyDoNotShowWhatTheGpuDid) {
  TestReport t({{{compute, 100}}});
  RankRecording& r = t.rank(0).recording;
  r.device_rows = 0;
  r.gpu = "NVIDIA L4";
  EXPECT_EQ(said_of(t),
            "Only rows of the host are recorded: whether the GPU (NVIDIA L4) worked is not known.");
  r.gpu = "aten::cudnn_convolution";
  EXPECT_EQ(
      said_of(t),
      "Only rows of the host are recorded: what the GPU did in aten::cudnn_convolution is not "
      "known.");
}

TEST(RecordingWords, OnlyStartUpOfTheStepsThatCountIsSaid) {
  TestReport t({{{compute, 20}, {idle_host, 80}}});
  RankResult& r = t.rank(0);
  r.recording.start_up.spans = {{.end = Ns{50'000'000}, .what = "", .idle = Ns{50'000'000}}};
  r.recording.start_up.idle = Ns{50'000'000};
  EXPECT_NE(said_of(t).find("Start-up takes 50.0 ms (50.0 %)"), std::string::npos);
  // What counts is longer than what the first step had.
  r.counted.steps = {Step{.index = 5, .end = Ns{1'000'000'000}}};
  r.counted.budget.devices.resize(r.budget.chosen + 1);
  Budget counted = r.budget.total;
  counted[compute] = Ns{1'000'000'000};
  r.counted.budget.devices[r.budget.chosen].steps = {counted};
  r.counted.budget.total = counted;
  EXPECT_EQ(said_of(t).find("Start-up"), std::string::npos);
}

TEST(RecordingWords, RanksWhoseRecordingsBeginApartAreSaid) {
  TestReport t({{{compute, 100}}, {{compute, 70}, {comm_exposed_wait, 30}}});
  t.rank(1).steps.front().start = Ns{30'000'000};
  t.rank(1).recording.start = Ns{29'000'000};
  t.job.steps.counted = {Step{.index = 5, .end = Ns{100'000'000}}};
  EXPECT_EQ(said_of(t),
            "The ranks begin the first recorded step up to 30.0 ms (30.0 % of a step) apart, and "
            "what the last did before is not recorded.");
  t.rank(1).recording.start = Ns{1'000'000};
  EXPECT_EQ(said_of(t), "") << "rows before the step give the reason";
}

TEST(RecordingWords, TimeThatIsNotRecordedIsSaidWhereItIsMuch) {
  TestReport little({{{compute, 95}, {not_recorded, 5}}});
  EXPECT_EQ(said_of(little), "");
  TestReport graph({{{compute, 70}, {not_recorded, 30}}});
  graph.gap(not_recorded, 30'000'000, "hipGraphLaunch", "hipGraphLaunch");
  EXPECT_EQ(said_of(graph),
            "30.0 ms (30.0 %) of a step lies between the nodes of a graph launch: the host made "
            "one call, and no row tells what the nodes wait for.");
  TestReport results({{{compute, 70}, {not_recorded, 30}}});
  results.gap(not_recorded, 30'000'000, "x", "$api.py:3165 try_to_block");
  EXPECT_EQ(said_of(results),
            "30.0 ms (30.0 %) of a step is not recorded: the program waits in $api.py:3165 "
            "try_to_block, and no row shows what keeps the thread that launches.");
  TestReport earlier({{{compute, 70}, {not_recorded, 30}}});
  EXPECT_EQ(said_of(earlier),
            "30.0 ms (30.0 %) of a step is not recorded: the device waits for work from before the "
            "recording.");
}

TEST(RecordingWords, StartUpIsSaidWhereItIsMuch) {
  TestReport t({{{compute, 20}, {idle_host, 80}}});
  StartUp& start_up = t.rank(0).recording.start_up;
  start_up.spans = {{.start = Ns{0},
                     .end = Ns{50'000'000},
                     .kind = StartUpKind::library,
                     .what = "aten::mm",
                     .idle = Ns{50'000'000}},
                    {.start = Ns{60'000'000},
                     .end = Ns{70'000'000},
                     .kind = StartUpKind::first_launch,
                     .what = "gemm",
                     .idle = Ns{10'000'000}}};
  start_up.idle = Ns{9'000'000};
  EXPECT_EQ(said_of(t), "");
  start_up.idle = Ns{60'000'000};
  EXPECT_EQ(said_of(t),
            "Start-up takes 60.0 ms (60.0 %) of a step (mm sets up its library), which later "
            "steps do not repeat: record after a warm-up.");
}

TEST(RecordingWords, ASmallPartOfTheMarkOfAStepAloneIsSaid) {
  TestReport t({{{compute, 20}, {idle_host, 80}}});
  Step& step = t.rank(0).steps.front();
  step.start = Ns{900'000'000};
  step.end = step.host_end = Ns{1'000'000'000};
  EXPECT_EQ(said_of(t),
            "Of the 1.00 s that the mark of the only step lasts, the 100 ms from the device's "
            "first row on are accounted for.");
  step.start = Ns{400'000'000};
  EXPECT_EQ(said_of(t), "");
}

// The longest call of the process lies before the window: it is no cause of what the device waits
// for within.
TEST(RecordingWords, StartUpWithinTheWindowAndBeforeItAreToldApart) {
  TestReport t({{{compute, 20}, {idle_host, 80}}});
  RankResult& r = t.rank(0);
  r.steps.front() = Step{.name = "window", .start = Ns{900'000'000}, .end = Ns{1'000'000'000}};
  r.recording.end = Ns{1'000'000'000};
  StartUp& start_up = r.recording.start_up;
  start_up.spans = {{.start = Ns{0},
                     .end = Ns{901'000'000},
                     .kind = StartUpKind::first_call,
                     .what = "cudaDeviceGetStreamPriorityRange",
                     .idle = Ns{1'000'000}},
                    {.start = Ns{910'000'000},
                     .end = Ns{970'000'000},
                     .kind = StartUpKind::library,
                     .what = "aten::conv2d",
                     .most_in = "cudaFree",
                     .idle = Ns{60'000'000}}};
  start_up.idle = Ns{61'000'000};
  EXPECT_EQ(said_of(t),
            "Start-up takes 61.0 ms (61.0 %) of the recorded window (conv2d sets up its library, "
            "mostly in cudaFree), which later steps do not repeat: record after a warm-up. Of the "
            "1.00 s recorded, the 100 ms from the device's first row to its last are accounted "
            "for; before it, start-up takes 900 ms (the first cudaDeviceGetStreamPriorityRange).");
  start_up.idle = Ns{0};
  EXPECT_TRUE(said_of(t).starts_with("Of the 1.00 s recorded"));
}

TEST(RecordingWords, AWindowThatIsASmallPartOfTheRecordingIsSaid) {
  TestReport t({{{compute, 100}}});
  t.rank(0).recording.end = Ns{20'000'000'000};
  EXPECT_EQ(said_of(t), "");
  t.rank(0).steps.front().name = "window";
  EXPECT_EQ(said_of(t),
            "Of the 20.0 s recorded, the 100 ms from the device's first row to its last are "
            "accounted for.");
}

TEST(RecordingWords, RowsOfSeveralRanksThatAreMixedAreNotAccountedFor) {
  TestReport t({{{compute, 100}}});
  EXPECT_FALSE(unaccountable(t.job));
  t.rank(0).recording.stepping_processes = 2;
  EXPECT_TRUE(unaccountable(t.job));
  EXPECT_NE(said_of(t).find("holds 2 processes that mark the same steps"), std::string::npos);
}

TEST(RecordingWords, RowsOfNoKnownCategoryAreNotAccountedFor) {
  TestReport t({{{idle_host, 100}}});
  t.rank(0).recording.rows = {};
  t.rank(0).recording.rows[static_cast<std::size_t>(Category::other)] = 3;
  EXPECT_TRUE(unaccountable(t.job));
  EXPECT_NE(said_of(t).find("No row has a category"), std::string::npos);
}

TEST(RecordingWords, CallsWithoutKernelsLaunchesAndOperatorsAreNotAccountedFor) {
  TestReport t({{{not_recorded, 100}}});
  RankRecording& r = t.rank(0).recording;
  r.rows = {};
  r.rows[static_cast<std::size_t>(Category::runtime)] = 3;
  r.device_rows = r.launches = r.collectives = 0;
  EXPECT_TRUE(unaccountable(t.job));
  EXPECT_EQ(
      said_of(t),
      "No kernel, no launch and no operator is recorded, so where the time goes is not known. "
      "None of the 3 recorded calls of the runtime launches anything: see when the profiler "
      "starts and stops (schedule, step()), and whether work runs between.");
  r.format = "nsys";
  EXPECT_NE(said_of(t).find("--trace=cuda"), std::string::npos);
  r.rows[static_cast<std::size_t>(Category::cpu_op)] = 1;
  EXPECT_FALSE(unaccountable(t.job));
}

TEST(RecordingWords, StepsThatTheRecordingMadeLongerAreTold) {
  TestReport t({{{compute, 100}}});
  const JobResult& job = t.report.job;
  EXPECT_EQ(say_stopped(slowed_sentence(job)), "");
  t.rank(0).recording.unrecorded_step = step_length(job);
  EXPECT_EQ(say_stopped(slowed_sentence(job)), "");
  t.rank(0).recording.unrecorded_step = step_length(job) / 2;
  EXPECT_TRUE(say_stopped(slowed_sentence(job)).starts_with("Steps before the recording took "));
  t.rank(0).steps.front().name = "window";
  EXPECT_EQ(say_stopped(slowed_sentence(job)), "");
}

}  // namespace
}  // namespace stepscope
