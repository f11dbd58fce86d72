// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/long_run.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

// x_t = sum of phi_j x_{t-j} + e_t.
Doubles autoregression(std::size_t n, const Doubles& phi, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  Doubles x(n + 500);
  for (std::size_t t = 0; t < x.size(); ++t) {
    x[t] = noise(random);
    for (std::size_t j = 0; j < phi.size() && j < t; ++j) x[t] += phi[j] * x[t - 1 - j];
  }
  return {x.begin() + 500, x.end()};
}

TEST(LongRun, OfAnAr1IsItsClosedForm) {
  for (const double rho : {0.0, 0.3, 0.6, 0.8}) {
    const LongRun run = long_run(autoregression(200'000, {rho}, 3));
    EXPECT_NEAR(run.lag1, rho, 0.01) << rho;
    EXPECT_NEAR(run.time / ((1 + rho) / (1 - rho)), 1, 0.06) << rho;
    EXPECT_NEAR(run.variance * (1 - rho * rho), 1, 0.05) << rho;
    EXPECT_NEAR(run.effective * run.time, 200'000, 1e-6) << rho;
  }
}

// Long-run variance of an AR(p): innovation / (1 - sum phi)^2. An AR(1) would be far off.
TEST(LongRun, SeesBeyondTheNeighbour) {
  const LongRun run = long_run(autoregression(200'000, {0.1, 0.1, 0.6}, 5));
  EXPECT_GE(run.order, 3);
  EXPECT_NEAR(run.variance * run.time / 25, 1, 0.1);
}

TEST(LongRun, OfAShortSeriesIsNotTooShortInTheMean) {
  double lag1 = 0;
  double naive = 0;
  constexpr int series = 2000;
  for (unsigned i = 0; i < series; ++i) {
    const Doubles x = autoregression(50, {0.6}, i);
    lag1 += long_run(x).lag1 / series;
    const double middle = *mean(x);
    double c0 = 0;
    double c1 = 0;
    for (std::size_t t = 0; t < x.size(); ++t) c0 += (x[t] - middle) * (x[t] - middle);
    for (std::size_t t = 1; t < x.size(); ++t) c1 += (x[t] - middle) * (x[t - 1] - middle);
    naive += c1 / c0 / series;
  }
  EXPECT_LT(naive, 0.55);
  EXPECT_NEAR(lag1, 0.6, 0.015);
}

TEST(LongRun, DoesNotCreditNegativeCorrelation) {
  const LongRun run = long_run(autoregression(10'000, {-0.7}, 7));
  EXPECT_EQ(run.lag1, 0);
  EXPECT_LE(run.effective, 10'000);
}

TEST(LongRun, KnowsLessOfFewerSteps) {
  const LongRun few = long_run(autoregression(50, {0.6}, 9));
  const LongRun many = long_run(autoregression(5000, {0.6}, 9));
  EXPECT_LT(few.degrees, 20);
  EXPECT_GT(many.degrees, 300);
}

// Launches have their own means. Nothing is correlated across their ends, and the difference of
// their means does not count as variance.
TEST(LongRun, TakesStretchesApart) {
  const Doubles first = autoregression(5000, {0.5}, 11);
  Doubles second = autoregression(5000, {0.5}, 12);
  const std::array<Series, 2> plain = {first, second};
  const LongRun without = long_run(plain);
  for (double& v : second) v += 1000;
  const std::array<Series, 2> shifted = {first, second};
  const LongRun with = long_run(shifted);
  EXPECT_NEAR(with.lag1, without.lag1, 1e-9);
  EXPECT_NEAR(with.variance, without.variance, 1e-6);
  Doubles joined = first;
  joined.insert(joined.end(), second.begin(), second.end());
  EXPECT_GT(long_run(joined).time, 10 * with.time);
}

TEST(LongRun, OfConstantSingleOrNoValues) {
  const LongRun constant = long_run(Doubles(20, 4.5));
  EXPECT_EQ(constant.effective, 20);
  EXPECT_EQ(constant.variance, 0);
  EXPECT_EQ(long_run(Doubles{3}).effective, 1);
  EXPECT_EQ(long_run(Doubles{3}).degrees, 1);
  EXPECT_EQ(long_run(Doubles{}).effective, 0);
}

TEST(LongRun, StaysFiniteForTwoAndThreeValues) {
  for (const Doubles& x : {Doubles{1, 2}, Doubles{1, 2, 3}, Doubles{1, 5, 2, 2, 9}}) {
    const LongRun run = long_run(x);
    EXPECT_TRUE(std::isfinite(run.mean_variance()));
    EXPECT_GE(run.time, 1);
    EXPECT_GE(run.degrees, 1);
    EXPECT_LE(run.effective, static_cast<double>(x.size()));
  }
}

}  // namespace
}  // namespace stepscope
