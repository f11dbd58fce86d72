// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/warm_up.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

Doubles steady(std::size_t n, double rho, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  Doubles x(n);
  double v = noise(random);
  for (double& out : x) {
    out = 100 * (1 + 0.03 * v);
    v = rho * v + std::sqrt(1 - rho * rho) * noise(random);
  }
  return x;
}

TEST(WarmUp, TheFirstStepsThatAreFarSlowerAreLeftOut) {
  Doubles x = steady(60, 0.3, 1);
  x[0] = 900;
  x[1] = 150;
  EXPECT_EQ(find_warm_up(x).count, 2U);
  x[30] = 900;  // an outlier in the middle is not warm-up
  EXPECT_EQ(find_warm_up(x).count, 2U);
}

TEST(WarmUp, OfAFewStepsIsFoundToo) {
  EXPECT_EQ(find_warm_up(Doubles{9, 1, 1, 1}).count, 1U);
  EXPECT_EQ(find_warm_up(Doubles{1100, 100, 100}).count, 1U);
  EXPECT_EQ(find_warm_up(Doubles{100, 1100, 100}).count, 0U);
  EXPECT_EQ(find_warm_up(Doubles{1100, 100, 300}).count, 0U);
  EXPECT_EQ(find_warm_up(Doubles{150, 100, 100}).count, 0U);
}

// Two later steps that happen to be alike do not show that the first one is slow.
TEST(WarmUp, OfAFewStepsIsNotMadeOfNoise) {
  EXPECT_EQ(find_warm_up(Doubles{108, 97, 100, 100.5}).count, 0U);
  EXPECT_EQ(find_warm_up(Doubles{160, 97, 100, 100.5}).count, 1U);
}

TEST(WarmUp, ASlowDecayEndsWhereItIsLostInTheNoise) {
  Doubles x = steady(400, 0.3, 2);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] *= 1 + 0.3 * std::exp(-static_cast<double>(i) / 20);
  const WarmUp found = find_warm_up(x);
  EXPECT_GE(found.count, 25U);
  EXPECT_LE(found.count, 120U);
  EXPECT_FALSE(found.unsettled);
}

// Later steps that are slower are worth knowing.
TEST(WarmUp, IsNoPartThatWasFaster) {
  for (const std::size_t part : {20U, 60U, 150U}) {
    Doubles x = steady(400, 0.3, 3);
    for (std::size_t i = 0; i < part; ++i) x[i] *= 0.8;
    EXPECT_EQ(find_warm_up(x).count, 0U) << part;
  }
}

// A level that was kept is one that the run may take again.
TEST(WarmUp, IsNoPlateau) {
  for (const std::size_t part : {30U, 60U, 150U})
    for (const double factor : {1.1, 2.0}) {
      Doubles x = steady(400, 0.3, 3);
      for (std::size_t i = 0; i < part; ++i) x[i] *= factor;
      EXPECT_EQ(find_warm_up(x).count, 0U) << part;
      x[0] = 900;
      x[1] = 400;
      EXPECT_EQ(find_warm_up(x).count, 2U) << part;
    }
}

TEST(WarmUp, SteadyStepsHaveNone) {
  int cut = 0;
  for (unsigned seed = 0; seed < 500; ++seed)
    for (const double rho : {0.0, 0.6}) cut += find_warm_up(steady(200, rho, seed)).count > 0;
  EXPECT_LE(cut, 15);
}

TEST(WarmUp, WithoutAnEndIsSaid) {
  Doubles x = steady(200, 0.0, 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= 2 - static_cast<double>(i) / 200;
  const WarmUp found = find_warm_up(x);
  EXPECT_TRUE(found.unsettled);
  EXPECT_LE(found.count, 100U);
}

TEST(WarmUp, EqualOrFewStepsHaveNone) {
  EXPECT_EQ(find_warm_up(Doubles(200, 3.0)).count, 0U);
  EXPECT_EQ(find_warm_up(Doubles{9, 1}).count, 0U);
  EXPECT_EQ(find_warm_up(Doubles{}).count, 0U);
}

}  // namespace
}  // namespace stepscope
