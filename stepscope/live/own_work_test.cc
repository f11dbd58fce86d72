// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/own_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

using Phases = std::vector<std::pair<std::string, double>>;

// A step of 100 ms in which rank `late` computes for `more_ms` longer; the others wait for it.
void step(OwnWork& work, int ranks, std::int64_t number, int late = -1, double more_ms = 0,
          std::int64_t run = 1) {
  for (int r = 0; r < ranks; ++r) {
    const double own = 80e6 + 1e5 * static_cast<double>((r * 7 + number * 3) % 11) +
                       (r == late ? more_ms * 1e6 : 0);
    const double wall = 100e6 + more_ms * 1e6;
    const Phases phases = {{"forward", own / 4}, {"backward", 3 * own / 4}};
    work.add(
        r,
        {.step = number, .wall_ns = wall, .wait_ns = wall - own, .run = run, .phases_ns = phases},
        static_cast<double>(number));
  }
}

TEST(OwnWork, NamesARankWithinTenSteps) {
  OwnWork work(4);
  for (int s = 0; s < 120; ++s) step(work, 4, s);
  EXPECT_TRUE(work.take_changes().empty());
  for (int s = 120; s < 130; ++s) step(work, 4, s, 2, 30);
  const auto changes = work.take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].rank, 2);
  EXPECT_EQ(changes[0].since, 120);
  EXPECT_LT(changes[0].step, 130);
  EXPECT_EQ(changes[0].phase, "backward");
  EXPECT_NEAR(changes[0].late_ns, 30e6, 1e6);
  ASSERT_EQ(work.late().size(), 1U);
  for (int s = 130; s < 140; ++s) step(work, 4, s);
  ASSERT_EQ(work.take_changes().size(), 1U);
  EXPECT_TRUE(work.late().empty());
  const auto steps = work.take_steps();
  ASSERT_EQ(steps.size(), 140U);
  EXPECT_EQ(steps.back().iteration, 139);
  EXPECT_NEAR(steps.front().wall_ns, 100e6, 1);
}

// The files of ranks are read one after the other, thousands of steps at a time.
TEST(OwnWork, JoinsRanksThatTellOneAfterTheOther) {
  OwnWork work(3);
  for (int r = 0; r < 3; ++r)
    for (int s = 0; s < 3000; ++s)
      work.add(r, {.step = s, .wall_ns = 50e6, .wait_ns = r == 1 && s >= 1000 ? 0 : 20e6}, 0);
  const auto changes = work.take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].rank, 1);
  EXPECT_EQ(changes[0].since, 1000);
  EXPECT_EQ(work.take_steps().size(), 3000U);
}

TEST(OwnWork, StepsThatARankLostAreClosedWithoutIt) {
  OwnWork work(4);
  for (int s = 0; s < 60; ++s)
    for (int r = 0; r < 4; ++r)
      if (r != 3 || s % 5 != 2) work.add(r, {.step = s, .wall_ns = 50e6, .wait_ns = 5e6}, s);
  EXPECT_EQ(work.take_steps().size(), 60U);
  for (int r = 0; r < 2; ++r) work.add(r, {.step = 60, .wall_ns = 50e6, .wait_ns = 5e6}, 60);
  EXPECT_TRUE(work.take_steps().empty());
  work.close_old(60 + OwnWork::patience);
  EXPECT_EQ(work.take_steps().size(), 1U);
}

TEST(OwnWork, ALaterRunBeginsAnew) {
  OwnWork work(2);
  for (int s = 0; s < 40; ++s) step(work, 2, s);
  for (int s = 40; s < 60; ++s) step(work, 2, s, 1, 30);
  ASSERT_EQ(work.late().size(), 1U);
  ASSERT_FALSE(work.take_changes().empty());
  ASSERT_EQ(work.take_steps().size(), 60U);
  for (int s = 0; s < 20; ++s) step(work, 2, s, -1, 0, 2);
  const auto changes = work.take_changes();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_FALSE(changes[0].late);
  EXPECT_GE(work.take_steps().size(), 19U);
  // What the run before wrote and is read late.
  EXPECT_FALSE(work.add(0, {.step = 61, .wall_ns = 1e6, .run = 1}, 61));
}

TEST(OwnWork, RanksBeyondTheirNumberAreLeftOut) {
  OwnWork work(2);
  EXPECT_TRUE(work.add(5, {.step = 0, .wall_ns = 1e6}, 0));
  EXPECT_TRUE(work.add(9, {.step = 0, .wall_ns = 1e6}, 0));
  EXPECT_FALSE(work.add(7, {.step = 0, .wall_ns = 1e6}, 0));
  EXPECT_FALSE(work.add(5, {.step = 0, .wall_ns = 1e6}, 0));
}

TEST(OwnWork, WaitsForABoundedNumberOfSteps) {
  OwnWork work(2);
  for (int s = 0; s < 20'000; ++s) work.add(0, {.step = s, .wall_ns = 1e6}, 0);
  EXPECT_EQ(work.take_steps().size(), 20'000 - OwnWork::most_open_steps);
}

}  // namespace
}  // namespace stepscope
