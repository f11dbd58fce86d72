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

struct Line {
  double middle = 0;  // at the middle of the series
  double slope = 0;   // a value

  [[nodiscard]] double at(std::size_t i, std::size_t count) const {
    return middle + slope * (static_cast<double>(i) - static_cast<double>(count - 1) / 2);
  }
};

// Sum of the squared distances from the middle: n (n² − 1) / 12.
double spread(std::size_t count) {
  const auto n = static_cast<double>(count);
  return n * (n * n - 1) / 12;
}

Line least_squares(std::span<const double> values) {
  Line line{.middle = *mean(values)};
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += (values[i] - line.middle) *
           (static_cast<double>(i) - static_cast<double>(values.size() - 1) / 2);
  line.slope = sum / spread(values.size());
  return line;
}

std::vector<double> around(std::span<const double> values, const Line& line) {
  std::vector<double> rest(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) rest[i] = values[i] - line.at(i, values.size());
  return rest;
}

}  // namespace

std::optional<Drift> find_drift(std::span<const double> values, const DriftOptions& options) {
  const std::size_t count = values.size();
  if (count < std::max<std::size_t>(options.shortest, 3)) return std::nullopt;
  // Once by all values, so that the limits follow the line; then by those within them.
  const Line first = least_squares(values);
  const std::vector<double> rest = around(values, first);
  std::vector<double> held = clipped(rest, *hampel_limits(rest));
  for (std::size_t i = 0; i < count; ++i) held[i] += first.at(i, count);
  const Line line = least_squares(held);
  const LongRun noise = long_run(around(held, line));
  const double error = std::sqrt(noise.variance * noise.time / spread(count));
  const Drift drift{.first = line.at(0, count),
                    .last = line.at(count - 1, count),
                    .p = error > 0 ? student_t_tails(std::fabs(line.slope) / error, noise.degrees)
                         : line.slope == 0 ? 1.0
                                           : 0.0};
  const double smaller = std::min(drift.first, drift.last);
  if (drift.p > options.p || std::fabs(drift.last - drift.first) < options.least * smaller)
    return std::nullopt;
  return drift;
}

}  // namespace stepscope
