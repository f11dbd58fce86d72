// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/fast_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// Our reading is between two readings of CLOCK_MONOTONIC, up to the calibration error. The
// tolerance is generous, for machines that stop threads in between.
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

// The data of a step fills the caches, so the clock's code and data are in none at the step's end.
// Then a reading takes some µs, like an interrupted one.
TEST(FastClock, IsComparedWhenItsCodeIsInNoCache) {
  FastClock clock;
  std::vector<char> caches(std::size_t{64} << 20);
  int compared = 0;
  for (int step = 0; step < 8; ++step) {
    for (std::size_t i = 0; i < caches.size(); i += 64) ++caches[i];
    if (clock.discipline()) ++compared;
  }
  EXPECT_GT(compared, 0);
}

// The remaining error of a clock that was ahead by 20 µs, after equal steps for 20 s or for 8
// steps.
TEST(FastClock, ComesBackToTheTruthHoweverLongTheStepsAre) {
  constexpr double rate = 0.37;
  for (const Ns step : {Ns{10ms}, Ns{1s}, Ns{1900ms}, Ns{2100ms}, Ns{15s}, Ns{10min}}) {
    double ahead = 20e3;
    const auto steps = std::max<std::int64_t>(8, Ns{20s} / step);
    for (std::int64_t i = 0; i < steps; ++i) {
      const double steered = steered_rate(rate, ahead, step);
      ahead += static_cast<double>(step.count()) * (steered - rate) / rate;
      ASSERT_LE(std::abs(ahead), 20e3) << step.count();
    }
    EXPECT_LT(std::abs(ahead), 1) << step.count();
  }
  // The rate never leaves this range.
  EXPECT_DOUBLE_EQ(steered_rate(rate, 1e12, 1s), rate * (1 - 5e-4));
  EXPECT_DOUBLE_EQ(steered_rate(rate, -1e12, 1s), rate * (1 + 5e-4));
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
