// SPDX-License-Identifier: Apache-2.0
#include "stepscope/telemetry/fast_clock.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// Between two readings of CLOCK_MONOTONIC stands one of ours, off by what calibration errs: far
// more than it takes is allowed, for machines whose threads are stopped in between.
TEST(FastClock, FollowsTheMonotonicClock) {
  FastClock clock;
  for (int i = 0; i < 200; ++i) {
    const Ns before = host_now();
    const Ns ours = clock.now();
    const Ns after = host_now();
    EXPECT_GT(ours, before - 1ms);
    EXPECT_LT(ours, after + 1ms);
    clock.discipline();
    const Ns until = host_now() + 200us;
    while (host_now() < until) {
    }
  }
}

TEST(FastClock, NeverRunsBackwards) {
  FastClock clock;
  Ns last = clock.now();
  for (int i = 0; i < 200'000; ++i) {
    if (i % 100 == 0) clock.discipline();
    const Ns now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(FastClock, IsTheMonotonicClockWhereThatIsWanted) {
  const FastClock clock(ClockSource::monotonic);
  EXPECT_FALSE(clock.uses_counter());
  const Ns before = host_now();
  const Ns ours = clock.now();
  EXPECT_GE(ours, before);
  EXPECT_LE(ours, host_now());
  EXPECT_EQ(FastClock().uses_counter(), has_invariant_tsc());
}

}  // namespace
}  // namespace stepscope
