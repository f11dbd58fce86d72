// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/drift.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepscope/stats/hampel.h"
#include "stepscope/stats/long_run.h"
#include "stepscope/stats/student_t.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// A parabola in orthogonal terms, so that its slope is that of the straight line.
struct Curve {
  double middle = 0;  // mean
  double slope = 0;   // per value
  double bend = 0;    // of the squared distance from the middle minus its mean
};

double distance(std::size_t i, std::size_t count) {
  return static_cast<double>(i) - static_cast<double>(count - 1) / 2;
}

// Sum of the squared distances from the middle: n (n² − 1) / 12.
double spread(std::size_t count) {
  const auto n = static_cast<double>(count);
  return n * (n * n - 1) / 12;
}

double bow(std::size_t i, std::size_t count) {
  return distance(i, count) * distance(i, count) - spread(count) / static_cast<double>(count);
}

double at(const Curve& curve, std::size_t i, std::size_t count) {
  return curve.middle + curve.slope * distance(i, count) + curve.bend * bow(i, count);
}

Curve least_squares(std::span<const double> values) {
  const std::size_t count = values.size();
  Curve curve{.middle = *mean(values)};
  double bows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    curve.slope += (values[i] - curve.middle) * distance(i, count);
    curve.bend += (values[i] - curve.middle) * bow(i, count);
    bows += bow(i, count) * bow(i, count);
  }
  curve.slope /= spread(count);
  curve.bend /= bows;
  return curve;
}

std::vector<double> around(std::span<const double> values, const Curve& curve) {
  std::vector<double> rest(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) rest[i] = values[i] - at(curve, i, values.size());
  return rest;
}

}  // namespace

std::optional<Drift> find_drift(std::span<const double> values, const DriftOptions& options) {
  const std::size_t count = values.size();
  if (count < std::max<std::size_t>(options.shortest, 3)) return std::nullopt;
  // The first fit uses all values and gives the limits; the second uses values within them.
  const Curve first = least_squares(values);
  const std::vector<double> rest = around(values, first);
  std::vector<double> held = clipped(rest, *hampel_limits(rest));
  for (std::size_t i = 0; i < count; ++i) held[i] += at(first, i, count);
  const Curve curve = least_squares(held);
  const LongRun noise = long_run(around(held, curve));
  const double error = std::sqrt(noise.variance * noise.time / spread(count));
  const Drift drift{.first = at(curve, 0, count),
                    .last = at(curve, count - 1, count),
                    .p = error > 0 ? student_t_tails(std::fabs(curve.slope) / error, noise.degrees)
                         : curve.slope == 0 ? 1.0
                                            : 0.0};
  const double smaller = std::min(drift.first, drift.last);
  if (drift.p > options.p || std::fabs(drift.last - drift.first) < options.least * smaller)
    return std::nullopt;
  return drift;
}

}  // namespace stepscope
