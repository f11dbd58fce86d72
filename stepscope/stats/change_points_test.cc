// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/change_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace stepscope {
namespace {

// An AR(1) with this correlation around the levels, with a deviation of two percent.
std::vector<double> series(unsigned seed, double correlation,
                           const std::vector<std::pair<std::size_t, double>>& levels) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, std::sqrt(1 - correlation * correlation));
  std::vector<double> out;
  double state = 0;
  for (const auto& [count, level] : levels)
    for (std::size_t i = 0; i < count; ++i) {
      state = correlation * state + noise(random);
      out.push_back(level * (1 + 0.02 * state));
    }
  return out;
}

TEST(ChangePoints, ALevelThatRises) {
  const auto changes = find_changes(series(1, 0.3, {{80, 100}, {60, 110}}));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(changes[0].at), 80, 2);
  EXPECT_NEAR(changes[0].before, 100, 1.5);
  EXPECT_NEAR(changes[0].after, 110, 1.5);
}

TEST(ChangePoints, ThereAndBackAgain) {
  const auto changes = find_changes(series(2, 0.2, {{60, 100}, {40, 130}, {60, 100}}));
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_NEAR(static_cast<double>(changes[0].at), 60, 1);
  EXPECT_NEAR(static_cast<double>(changes[1].at), 100, 1);
  EXPECT_GT(changes[0].after, changes[0].before);
  EXPECT_LT(changes[1].after, changes[1].before);
}

TEST(ChangePoints, NoiseIsNoChangeHoweverCorrelated) {
  int found = 0;
  for (const double correlation : {0.0, 0.3, 0.6, 0.8})
    for (unsigned seed = 0; seed < 100; ++seed)
      found += find_changes(series(seed, correlation, {{200, 100}})).empty() ? 0 : 1;
  EXPECT_LE(found, 8);  // of 400
}

TEST(ChangePoints, OutliersAreNone) {
  auto values = series(3, 0, {{120, 100}});
  for (std::size_t i = 9; i < values.size(); i += 10) values[i] *= 3;
  EXPECT_TRUE(find_changes(values).empty());
}

// Two of 40 values are 30 times as large, at any places.
TEST(ChangePoints, AFarValueHidesNoChange) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    auto values = series(seed, 0, {{20, 100}, {20, 112}});
    std::mt19937 random(seed + 1000);
    for (int i = 0; i < 2; ++i) values[random() % values.size()] *= 30;
    const auto changes = find_changes(values);
    found += changes.size() == 1 && changes[0].at >= 18 && changes[0].at <= 22 ? 1 : 0;
  }
  EXPECT_GE(found, 75);
}

TEST(ChangePoints, AFarValueAmongRunsOfAFewHidesNoChange) {
  std::vector<double> values(20, 100.0);
  values.insert(values.end(), 20, 130.0);
  values[5] = 3000;
  const auto changes = find_changes(values);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].at, 20U);
}

TEST(ChangePoints, HeavyTailsAreNoChange) {
  int found = 0;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::student_t_distribution<double> student(2);
    std::vector<double> lognormal, pauses, wide, whole;
    for (int i = 0; i < 300; ++i) {
      lognormal.push_back(100 * std::exp(normal(random)));
      wide.push_back(std::max(1.0, 100 * (1 + 0.02 * student(random))));
      const double pause = std::min(50.0, std::pow(1 - uniform(random), -1 / 1.1));
      pauses.push_back(100 * (1 + 0.01 * normal(random)) * (i % 20 == 7 ? pause : 1));
      whole.push_back(std::round(100 * (1 + 0.004 * normal(random))));
    }
    for (const auto& values : {lognormal, pauses, wide, whole})
      found += find_changes(values).empty() ? 0 : 1;
  }
  EXPECT_LE(found, 2);  // of 800
}

TEST(ChangePoints, WhatIsTooSmallOrTooShort) {
  EXPECT_TRUE(find_changes(series(4, 0, {{2000, 100}, {2000, 100.5}})).empty());  // half a percent
  EXPECT_TRUE(find_changes(std::vector<double>(15, 1.0)).empty());
  EXPECT_TRUE(find_changes({}).empty());
  // Values without any noise.
  std::vector<double> steps(10, 100.0);
  steps.insert(steps.end(), 10, 102.0);
  const auto changes = find_changes(steps);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].at, 10U);
  EXPECT_TRUE(find_changes(std::vector<double>(500, 3.0)).empty());
}

TEST(ChangePoints, ALevelThatDriftsMayJump) {
  std::vector<double> values;
  for (int i = 0; i < 130; ++i)
    values.push_back((i < 50 ? 99.0 : 97.5) - 0.005 * (i % 50) + 0.01 * (i * 7 % 5));
  const auto changes = find_changes(values);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].at, 50U);
}

}  // namespace
}  // namespace stepscope
