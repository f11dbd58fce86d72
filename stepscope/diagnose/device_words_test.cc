// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/device_words.h"

#include <gtest/gtest.h>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using enum BudgetCategory;
constexpr Ns ms{1'000'000};

TEST(DeviceWords, SayThatWorkBeginsLateOnAFreeDevice) {
  TestReport t({{{compute, 80}, {idle_launch, 20}}});
  EXPECT_TRUE(late_start_text(t.job).empty());
  t.rank(0).host.idle = {.launching = ms, .allocating = {}, .late = 20 * ms, .late_starts = 5};
  EXPECT_EQ(say(late_start_text(t.job)),
            "On rank 0, device work begins 4.00 ms after its launch has returned, although the "
            "device has no work of this process, 5 times: this takes 20.0 ms (20.0 %)");
  t.rank(0).recording.managed_memory = true;
  EXPECT_TRUE(say(late_start_text(t.job)).ends_with("its pages may be moved first"));
}

TEST(DeviceWords, SayThatPageFaultsMovedMemory) {
  TestReport t({{{compute, 100}}});
  RankRecording& r = t.rank(0).recording;
  r.migrations = 2370;
  r.migration_time = 87 * ms;
  EXPECT_TRUE(managed_text(t.job).empty()) << "all of it prefetched";
  r.fault_migrations = 1536;
  EXPECT_TRUE(say(managed_text(t.job))
                  .starts_with("Managed memory was moved 2370 times in 87.0 ms, 1536 of them on "
                               "page faults. "))
      << say(managed_text(t.job));
}

TEST(DeviceWords, SayThatARecordingShowsStartUpOnly) {
  TestReport t({{{copy_exposed, 1}}});
  RankResult& r = t.rank(0);
  r.steps.front().name = "window";
  r.recording.start = r.steps.front().start - 400 * ms;
  r.recording.end = r.steps.front().end;
  EXPECT_TRUE(start_up_text(t.job).empty());
  r.recording.start_up.spans.push_back({.start = r.recording.start,
                                        .end = r.recording.start + 118 * ms,
                                        .kind = StartUpKind::context,
                                        .what = "cudaFree"});
  const std::string said = say(find_verdict(t.job, std::nullopt).sentence);
  EXPECT_TRUE(
      said.starts_with("The recording shows start-up only: the device works within 1.00 ms "
                       "of 401 ms, and cudaFree takes 118 ms to create its context"))
      << said;
}

TEST(DeviceWords, KnowThatSettingMemoryIsNoCopy) {
  TestReport t({{{copy_exposed, 100}}});
  EXPECT_FALSE(only_fills(t.job));
  CopyRow row;
  row.direction = "memset";
  t.rank(0).memory.copies = {row};
  EXPECT_TRUE(only_fills(t.job));
  row.direction = "HtoD";
  t.rank(0).memory.copies.push_back(row);
  EXPECT_FALSE(only_fills(t.job));
}

TEST(DeviceWords, DistinguishAFileWithoutTimedRows) {
  RankResult r;
  EXPECT_EQ(no_step_text(r).kind, MessageKind::no_timed_row);
  r.recording.rows[0] = 1;
  EXPECT_EQ(no_step_text(r).kind, MessageKind::no_step_of_rank);
}

TEST(DeviceWords, LaunchedWorkThatAFreeDeviceDoesNotStartIsNotTheHosts) {
  const auto bound = [](std::int64_t held_ms) {
    TestReport t({{{BudgetCategory::idle_launch, 50},
                   {BudgetCategory::idle_host, 10},
                   {BudgetCategory::compute, 40}}});
    t.job.explanation.emplace().held.emplace_back().total = Ns{held_ms * 1'000'000};
    return find_verdict(t.job, std::nullopt).bound_by;
  };
  EXPECT_EQ(bound(45), BoundBy::unexplained);
  EXPECT_EQ(bound(29), BoundBy::host) << "most of it is";
}

}  // namespace
}  // namespace stepscope
