// SPDX-License-Identifier: Apache-2.0
// Robust least squares for models that are not linear in their parameters: Levenberg-Marquardt
// steps on numeric derivatives, reweighted for the soft L1 loss rho(r) = 2 s^2 (sqrt(1 + (r / s)^2)
// - 1), with parameters kept between bounds.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace stepscope {

struct NonlinearOptions {
  double outlier_scale = 0.1;  // residuals well above it count linearly
  int iterations = 100;        // at most
  double tolerance = 1e-7;     // the search ends at a smaller relative fall of the cost
  double step = 1e-4;          // of the numeric derivative, absolute
};

struct NonlinearFit {
  std::vector<double> x;
  double cost = 0;
  // Per parameter: the root of the weighted sum of squared derivatives; 0 if no residual depends on
  // it.
  std::vector<double> sensitivity;
};

// Writes one residual per observation for the parameters `x`. Scale them to about equal precision.
using Residuals = std::function<void(std::span<const double> x, std::span<double> residuals)>;

// A local minimum from `start`, which is clamped to [low, high]; all three have one length.
// `weights` has one entry per observation. Deterministic. O(iterations x parameters) calls of
// `residuals`.
[[nodiscard]] NonlinearFit fit_nonlinear(const Residuals& residuals,
                                         std::span<const double> weights,
                                         std::span<const double> start, std::span<const double> low,
                                         std::span<const double> high,
                                         const NonlinearOptions& options = {});

}  // namespace stepscope
