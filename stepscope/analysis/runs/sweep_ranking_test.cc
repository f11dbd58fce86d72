// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/sweep_ranking.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

std::vector<SweepValue> values_of(const std::vector<std::pair<std::string, double>>& levels,
                                  std::size_t steps) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise;
  std::vector<SweepValue> values;
  for (const auto& [name, level] : levels) {
    LaunchSteps launch{.name = name};
    for (std::size_t i = 0; i < steps; ++i)
      launch.wall_ns.push_back(level * (1 + 0.02 * noise(random)));
    values.push_back({.value = name, .launches = {launch}});
  }
  return values;
}

TEST(Sweep, FindsTheBestAndShowsTiesAsTies) {
  const Sweep sweep = compare_values(
      values_of({{"1MB", 1.2e7}, {"5MB", 1.0e7}, {"25MB", 1.001e7}, {"100MB", 1.1e7}}, 200));
  EXPECT_TRUE(sweep.best == 1 || sweep.best == 2);
  EXPECT_TRUE(sweep.values[3 - sweep.best].tie);
  EXPECT_FALSE(sweep.values[sweep.best].tie);
  EXPECT_FALSE(sweep.values[sweep.best].beside_best);
  EXPECT_FALSE(sweep.values[0].tie);
  EXPECT_FALSE(sweep.values[3].tie);
  EXPECT_NEAR(sweep.values[0].beside_best->ratio, 1.2, 0.02);
  EXPECT_LT(*sweep.values[0].q, 0.001);
  EXPECT_TRUE(sweep.enough_data);
}

TEST(Sweep, OfFewStepsEverythingIsATie) {
  const Sweep sweep = compare_values(values_of({{"1", 1.2e7}, {"2", 1.0e7}}, 3));
  EXPECT_EQ(sweep.best, 1U);
  EXPECT_TRUE(sweep.values[0].tie);
  EXPECT_FALSE(sweep.enough_data);
}

TEST(Sweep, OfOneValueHasABest) {
  const Sweep sweep = compare_values(values_of({{"only", 1e7}}, 20));
  EXPECT_EQ(sweep.best, 0U);
  EXPECT_FALSE(sweep.values[0].tie);
}

// Twenty equal values: the one that is fastest by chance is hardly ahead of the others.
TEST(Sweep, ManyEqualValuesTie) {
  std::vector<std::pair<std::string, double>> equal;
  for (int i = 0; i < 20; ++i) equal.emplace_back(std::to_string(i), 1e7);
  int apart = 0;
  for (const SweptValue& v : compare_values(values_of(equal, 100)).values)
    apart += v.beside_best && !v.tie;
  EXPECT_LE(apart, 1);
}

}  // namespace
}  // namespace stepscope
