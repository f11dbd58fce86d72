// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/nonlinear_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace stepscope {
namespace {

// y = a exp(-b t) at t = 0, 0.25, ...
struct Decay {
  std::vector<double> y;
  void operator()(std::span<const double> x, std::span<double> r) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      r[i] = x[0] * std::exp(-x[1] * 0.25 * static_cast<double>(i)) - y[i];
    }
  }
};

Decay exact(std::size_t count) {
  Decay d{std::vector<double>(count, 0.0)};
  std::vector<double> zero(count);
  d(std::array{3.0, 0.7}, zero);
  d.y = zero;
  return d;
}

constexpr std::array<double, 2> low = {0.1, 0.01};
constexpr std::array<double, 2> high = {100, 10};
constexpr std::array<double, 2> start = {1, 2};

TEST(FitNonlinear, FindsTheParametersThatMadeTheData) {
  const std::vector<double> weights(20, 1.0);
  const NonlinearFit fit = fit_nonlinear(exact(20), weights, start, low, high);
  EXPECT_NEAR(fit.x[0], 3.0, 1e-4);
  EXPECT_NEAR(fit.x[1], 0.7, 1e-4);
  EXPECT_LT(fit.cost, 1e-8);
}

TEST(FitNonlinear, IsNotDrawnByAnOutlier) {
  Decay d = exact(20);
  d.y[10] += 50;
  const std::vector<double> weights(20, 1.0);
  const NonlinearFit fit = fit_nonlinear(d, weights, start, low, high, {.outlier_scale = 0.01});
  EXPECT_NEAR(fit.x[0], 3.0, 0.05);
  EXPECT_NEAR(fit.x[1], 0.7, 0.05);
}

TEST(FitNonlinear, LeavesOutWhatWeighsNothing) {
  Decay d = exact(20);
  d.y[3] = 1e6;
  std::vector<double> weights(20, 1.0);
  weights[3] = 0;
  EXPECT_NEAR(fit_nonlinear(d, weights, start, low, high).x[0], 3.0, 1e-4);
}

TEST(FitNonlinear, StaysBetweenTheBounds) {
  const std::array<double, 2> narrow = {2.0, 10};
  const std::vector<double> weights(20, 1.0);
  const NonlinearFit fit = fit_nonlinear(exact(20), weights, start, low, narrow);
  EXPECT_EQ(fit.x[0], 2.0);
  EXPECT_LT(fit.x[1], 0.7);
}

TEST(FitNonlinear, SaysWhichParameterTheDataDoNotKnow) {
  const Residuals first_only = [](std::span<const double> x, std::span<double> r) {
    for (double& value : r) value = x[0] - 5;
  };
  const std::vector<double> weights(4, 1.0);
  const NonlinearFit fit = fit_nonlinear(first_only, weights, start, low, high);
  EXPECT_NEAR(fit.x[0], 5, 1e-4);
  EXPECT_EQ(fit.x[1], start[1]);
  EXPECT_GT(fit.sensitivity[0], 1);
  EXPECT_EQ(fit.sensitivity[1], 0);
}

}  // namespace
}  // namespace stepscope
