// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/copied_replay.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/replayed_test_job.h"

namespace stepscope {
namespace {

struct Copied : ReplayedTestJob {
  explicit Copied(const std::vector<ReducingStep>& steps)
      : ReplayedTestJob(reducing_ranks(steps)) {}
  [[nodiscard]] std::int64_t step(CopiedJob asked) const {
    asked.joined.assign(collectives.matches.groups.size(), true);
    return step_as_is(asked);
  }
  [[nodiscard]] std::int64_t step_as_is(const CopiedJob& asked) const {
    return copied_step(inputs(), medians.pieces, asked).count();
  }
};

// Six steps of two ranks. The second is slow in one of them.
std::vector<ReducingStep> one_slow_step() {
  std::vector<ReducingStep> steps(6, {.work = {100 * us, 100 * us}, .transfer = 20 * us});
  steps[3].work[1] = 160 * us;
  return steps;
}

CopiedJob of_copies(std::size_t copies) {
  CopiedJob job;
  job.copies = copies;
  return job;
}

TEST(CopiedReplay, OneCopyIsTheRecordedStep) {
  const Copied job(one_slow_step());
  EXPECT_EQ(job.step({}), job.replay.step.count());
}

// With this many copies some copy has the slow step at every place, so every step waits for it.
TEST(CopiedReplay, AStepOfManyCopiesWaitsForTheLatestOfThem) {
  const Copied job(one_slow_step());
  const std::int64_t slow = launches_of_step + 180 * us;
  EXPECT_EQ(job.step(of_copies(200)), slow);
  const std::int64_t few = job.step(of_copies(3));
  EXPECT_GE(few, job.replay.step.count());
  EXPECT_LE(few, slow);
}

// The slow step then costs only its own copy.
TEST(CopiedReplay, CopiesThatShareNoCollectiveDoNotWaitForEachOther) {
  const Copied job(one_slow_step());
  CopiedJob apart = of_copies(200);
  apart.joined.assign(job.collectives.matches.groups.size(), false);
  EXPECT_LT(job.step_as_is(apart), job.step(of_copies(200)));
}

TEST(CopiedReplay, IsRepeatable) {
  const Copied job(one_slow_step());
  CopiedJob other = of_copies(5);
  other.draw = 3;
  EXPECT_EQ(job.step(other), job.step(other));
}

TEST(CopiedReplay, NobodyWaitsForARankThatIsLeftOut) {
  const Copied job(
      std::vector<ReducingStep>(4, {.work = {100 * us, 150 * us}, .transfer = 20 * us}));
  EXPECT_EQ(job.replay.step.count(), launches_of_step + 170 * us);
  CopiedJob asked;
  asked.left_out = {false, true};
  EXPECT_EQ(job.step(asked), launches_of_step + 120 * us);
}

// A factor is of durations: here of the transfers alone.
TEST(CopiedReplay, MultipliesDurations) {
  const Copied job(
      std::vector<ReducingStep>(4, {.work = {100 * us, 100 * us}, .transfer = 20 * us}));
  CopiedJob asked;
  asked.factor.assign(job.graph.size(), 1);
  for (const std::uint32_t n : job.replay.movable_of[static_cast<std::size_t>(NodeKind::transfer)])
    asked.factor[n] = 2.5;
  EXPECT_EQ(job.step(asked), launches_of_step + 150 * us);
}

}  // namespace
}  // namespace stepscope
