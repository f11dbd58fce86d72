// SPDX-License-Identifier: Apache-2.0
// Outliers by Hampel's rule: values further from the median than k robust standard deviations
// (1.4826 x the median absolute deviation). Unlike mean and standard deviation, these are not
// distorted by the outliers.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace stepscope {

// The standard deviation of normal values, from the median of their distances from their median.
// Absent for no values.
[[nodiscard]] std::optional<double> robust_deviation(std::span<const double> values);

struct HampelLimits {
  double median = 0;
  double deviation = 0;  // robust; from the mean absolute one if half of the values are equal
  double low = 0;
  double high = 0;
};

// Absent for no values. If all values are equal, both limits are that value.
[[nodiscard]] std::optional<HampelLimits> hampel_limits(std::span<const double> values,
                                                        double k = 3);

// The same by the logarithms of values > 0: the interval beyond which a value is an outlier. Absent
// for no values, or if all are equal.
[[nodiscard]] std::optional<std::pair<double, double>> usual_interval(
    std::span<const double> values, double k = 3);

// The values, with those beyond the limits moved onto them.
[[nodiscard]] std::vector<double> clipped(std::span<const double> values,
                                          const HampelLimits& limits);

}  // namespace stepscope
