// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/block_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

Doubles normal(std::size_t n, unsigned seed, double rho = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  Doubles x(n);
  double v = noise(random);
  for (double& out : x) {
    out = v;
    v = rho * v + std::sqrt(1 - rho * rho) * noise(random);
  }
  return x;
}

MedianBootstrap of(const Doubles& x, const BootstrapOptions& options) {
  const Series s = x;
  return bootstrap_median({&s, 1}, options);
}

// The standard error of the median of n normal values is sqrt(pi / 2 / n).
TEST(BlockBootstrap, OfIndependentValuesHasTheErrorOfTheMedian) {
  const auto boot = of(normal(20'000, 1), {.replicates = 2000, .block = 1});
  EXPECT_NEAR(*sample_stdev(boot.replicates) / std::sqrt(1.5707963 / 20'000), 1, 0.08);
  EXPECT_NEAR(*mean(boot.replicates), boot.median, 0.003);
  EXPECT_NEAR(boot.sign_variance, 1, 1e-9);
}

// For an AR(1) the variance is larger by sum asin(r^|k|) over asin(1).
TEST(BlockBootstrap, LongBlocksKeepTheCorrelation) {
  const double rho = 0.6;
  double factor = 1;
  for (int k = 1; k < 60; ++k) factor += 2 * std::asin(std::pow(rho, k)) / 1.5707963;
  const auto boot = of(normal(50'000, 2, rho), {.replicates = 1000, .block = 200});
  EXPECT_NEAR(*sample_stdev(boot.replicates) / std::sqrt(factor * 1.5707963 / 50'000), 1, 0.15);
  EXPECT_NEAR(boot.sign_variance / factor, 1, 0.15);
}

// Compares with medians of series that are built value by value. The window is only faster.
TEST(BlockBootstrap, RepeatsWithItsSeed) {
  const Doubles x = normal(301, 3, 0.5);
  const auto once = of(x, {.replicates = 200, .seed = 9});
  EXPECT_EQ(once.replicates, of(x, {.replicates = 200, .seed = 9}).replicates);
  EXPECT_NE(once.replicates, of(x, {.replicates = 200, .seed = 10}).replicates);
  EXPECT_EQ(once.block, 13U);
  const std::set<double> values(x.begin(), x.end());
  for (const double m : once.replicates) EXPECT_TRUE(values.contains(m));
}

// A block as long as the stretch is a rotation of it, so its median is the stretch's.
TEST(BlockBootstrap, AWholeBlockIsARotation) {
  for (const std::size_t n : {7U, 8U, 1000U}) {
    const Doubles x = normal(n, 4);
    for (const double m : of(x, {.replicates = 20, .block = n}).replicates)
      EXPECT_EQ(m, *median(x)) << n;
  }
}

// Two launches have far different levels. Each keeps its share, so the median stays between them.
TEST(BlockBootstrap, KeepsTheLengthOfEachStretch) {
  const Doubles low(50, 1.0);
  const Doubles high(50, 3.0);
  const std::array<Series, 2> both = {low, high};
  for (const double m : bootstrap_median(both, {.replicates = 50, .block = 4}).replicates)
    EXPECT_EQ(m, 2);
}

TEST(BlockBootstrap, OfEqualValuesOrOneValueIsThatValue) {
  EXPECT_EQ(of(Doubles(30, 2.0), {.replicates = 3}).replicates, Doubles(3, 2.0));
  EXPECT_EQ(of({7}, {.replicates = 2}).replicates, Doubles(2, 7.0));
}

// Two levels in equal parts: the median jumps between them, far outside a narrow window.
TEST(BlockBootstrap, SurvivesTwoModes) {
  Doubles x;
  for (int i = 0; i < 5000; ++i) x.push_back((i / 50) % 2 == 0 ? 1.0 : 2.0);
  const auto boot = of(x, {.replicates = 200, .block = 50});
  EXPECT_EQ(boot.replicates.size(), 200U);
  EXPECT_EQ(std::ranges::min(boot.replicates), 1);
  EXPECT_EQ(std::ranges::max(boot.replicates), 2);
}

}  // namespace
}  // namespace stepscope
