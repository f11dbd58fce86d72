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

// With fewer values there is no outlier: of three normal values one is beyond the limits in a third
// of all draws.
inline constexpr std::size_t fewest_with_outliers = 5;

// The same by the logarithms of values > 0: the interval beyond which a value is an outlier. It
// holds what is within a hundredth of the median, which matters to nobody. Absent for fewer values
// than above, or if all are equal.
//
// k is 3, and 6 for 5 to 9 values: at 3 noise has an outlier in a fifth to a quarter of all draws,
// because the median distance of so few is often small. At 6 it has one in 3 to 8 %.
[[nodiscard]] std::optional<std::pair<double, double>> usual_interval(
    std::span<const double> values);

// The values, with those beyond the limits moved onto them.
[[nodiscard]] std::vector<double> clipped(std::span<const double> values,
                                          const HampelLimits& limits);

}  // namespace stepscope
