// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace stepscope {
namespace {

// An AR(1) with this correlation and a deviation of two percent around a line.
std::vector<double> series(unsigned seed, double correlation, std::size_t count, double first,
                           double last) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, std::sqrt(1 - correlation * correlation));
  std::vector<double> out;
  double state = 0;
  for (std::size_t i = 0; i < count; ++i) {
    state = correlation * state + noise(random);
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    out.push_back((first + (last - first) * share) * (1 + 0.02 * state));
  }
  return out;
}

TEST(Drift, AStepThatBecomesLongerSlowly) {
  for (const double correlation : {0.0, 0.3, 0.6}) {
    const auto drift = find_drift(series(1, correlation, 200, 470, 660));
    ASSERT_TRUE(drift) << correlation;
    EXPECT_NEAR(drift->first, 470, 12);
    EXPECT_NEAR(drift->last, 660, 12);
    EXPECT_LT(drift->p, 1e-4);
  }
  const auto falling = find_drift(series(2, 0.3, 100, 120, 100));
  ASSERT_TRUE(falling);
  EXPECT_LT(falling->last, falling->first);
}

// The longer sequences of a curriculum have this shape.
TEST(Drift, ARiseThatFlattens) {
  auto values = series(7, 0.5, 210, 100, 100);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= 1 + 0.4 * (1 - std::exp(-static_cast<double>(i) / 60));
  const auto drift = find_drift(values);
  ASSERT_TRUE(drift);
  EXPECT_LT(drift->first, 112);
  EXPECT_NEAR(drift->last, 140, 5);
}

TEST(Drift, NoiseIsNoneHoweverCorrelated) {
  int found = 0;
  for (const double correlation : {0.0, 0.3, 0.6, 0.9})
    for (unsigned seed = 0; seed < 250; ++seed)
      found += find_drift(series(seed, correlation, 120, 100, 100)) ? 1 : 0;
  EXPECT_LE(found, 5);  // of 1000
}

TEST(Drift, OutliersMakeNoneAndHideNone) {
  auto flat = series(3, 0, 120, 100, 100);
  for (std::size_t i = 100; i < 110; i += 3) flat[i] *= 5;
  EXPECT_FALSE(find_drift(flat));
  auto rising = series(4, 0, 120, 100, 115);
  for (std::size_t i = 5; i < rising.size(); i += 20) rising[i] *= 5;
  const auto drift = find_drift(rising);
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->last - drift->first, 15, 4);
}

TEST(Drift, WhatIsTooSmallTooShortOrExact) {
  EXPECT_FALSE(find_drift(series(5, 0, 4000, 100, 102)));
  EXPECT_FALSE(find_drift(series(6, 0, 20, 100, 200)));
  EXPECT_FALSE(find_drift(std::vector<double>(100, 7.0)));
  EXPECT_FALSE(find_drift({}));
  std::vector<double> line;
  for (int i = 0; i < 50; ++i) line.push_back(100 + i);
  const auto drift = find_drift(line);
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->first, 100, 1e-9);
  EXPECT_NEAR(drift->last, 149, 1e-9);
}

}  // namespace
}  // namespace stepscope
