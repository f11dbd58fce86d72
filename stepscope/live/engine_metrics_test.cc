// SPDX-License-Identifier: Apache-2.0
#include "stepscope/live/engine_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace stepscope {
namespace {

std::string text(int steps, double wall, double forward1, double wait0) {
  return "# TYPE stepscope_steps counter\nstepscope_steps_total " + std::to_string(steps) +
         "\nstepscope_wall_seconds_total " + std::to_string(wall) +
         "\nstepscope_activity_seconds_total{rank=\"0\",activity=\"forward\"} " +
         std::to_string(wall - wait0) +
         "\nstepscope_activity_seconds_total{rank=\"0\",activity=\"wait_reduce\"} " +
         std::to_string(wait0) +
         "\nstepscope_activity_seconds_total{rank=\"1\",activity=\"forward\"} " +
         std::to_string(forward1) + "\n# EOF\n";
}

TEST(EngineMetrics, DifferencesAreStepsAndOwnWork) {
  const auto before = parse_engine_metrics(text(10, 2, 1.5, 0.5));
  const auto after = parse_engine_metrics(text(14, 3, 2.3, 0.7));
  ASSERT_TRUE(before && after);
  const auto steps = steps_between(*before, *after);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->steps, 4);
  EXPECT_NEAR(steps->step_ns, 250e6, 1);
  ASSERT_EQ(steps->own_ns.size(), 2U);
  EXPECT_NEAR(steps->own_ns[0], 200e6, 100);
  EXPECT_NEAR(steps->own_ns[1], 200e6, 100);
  EXPECT_FALSE(steps_between(*after, *after));
  EXPECT_FALSE(steps_between(*after, *before));  // restarted
}

TEST(EngineMetrics, RefusesOtherTextAndParts) {
  EXPECT_FALSE(parse_engine_metrics(""));
  EXPECT_FALSE(parse_engine_metrics("nccl_bus_bandwidth_gbs{} 1\n# EOF\n"));
  const std::string whole = text(10, 2, 1.5, 0.5);
  EXPECT_FALSE(parse_engine_metrics(whole.substr(0, whole.size() / 2)));
  EXPECT_TRUE(parse_engine_metrics(whole));
}

TEST(EngineMetrics, IgnoresWhatIsNoRankOrNumber) {
  const auto read = parse_engine_metrics(
      "stepscope_steps_total 3\nstepscope_wall_seconds_total 1\n"
      "stepscope_activity_seconds_total{rank=\"-1\",activity=\"forward\"} 1\n"
      "stepscope_activity_seconds_total{rank=\"99999999\",activity=\"forward\"} 1\n"
      "stepscope_activity_seconds_total{rank=\"0\",activity=\"forward\"} nan\n# EOF\n");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->own_s.empty());
}

}  // namespace
}  // namespace stepscope
