// SPDX-License-Identifier: Apache-2.0
// Summary statistics: count, mean, sample standard deviation, extremes, quantiles. An undefined
// value is absent: the mean of no values, the deviation of one. Times in ns are passed as
// std::int64_t. Sums are relative to the first value, so large instants lose no precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct Summary {
  std::size_t count = 0;
  double mean = 0;              // for one value or more
  std::optional<double> stdev;  // sample (n - 1); absent below two values
  double min = 0;
  double max = 0;
};

// Absent for an empty span. Takes two passes.
[[nodiscard]] std::optional<Summary> summarize(std::span<const double> values);
[[nodiscard]] std::optional<Summary> summarize(std::span<const std::int64_t> values);

[[nodiscard]] std::optional<double> mean(std::span<const double> values);
[[nodiscard]] std::optional<double> mean(std::span<const std::int64_t> values);

// sqrt(sum (x - mean)^2 / (n - 1)); absent below two values.
[[nodiscard]] std::optional<double> sample_stdev(std::span<const double> values);
[[nodiscard]] std::optional<double> sample_stdev(std::span<const std::int64_t> values);

// Linear interpolation between order statistics at (n - 1) q: Hyndman and Fan's type 7 (numpy's
// default), with q clamped to [0, 1]. Copies the values and selects, O(n). Absent for an empty
// span. NaN values are not allowed.
[[nodiscard]] std::optional<double> quantile(std::span<const double> values, double q);
[[nodiscard]] std::optional<double> quantile(std::span<const std::int64_t> values, double q);
// The same for values in ascending order, without a copy. For several quantiles of one set.
[[nodiscard]] std::optional<double> quantile_sorted(std::span<const double> ascending, double q);
[[nodiscard]] std::optional<double> quantile_sorted(std::span<const std::int64_t> ascending,
                                                    double q);

[[nodiscard]] std::optional<double> median(std::span<const double> values);
[[nodiscard]] std::optional<double> median(std::span<const std::int64_t> values);

// The value at `place` in ascending order, for any ordered type. It reorders the values, O(n).
// REQUIRES: place < values.size().
template <class T>
[[nodiscard]] T order_statistic(std::vector<T>& values, std::size_t place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, at);
  return *at;
}
// Medians that are one of the values, of which there must be one: at n / 2 and at (n - 1) / 2.
template <class T>
[[nodiscard]] T upper_median(std::vector<T>& values) {
  return order_statistic(values, values.size() / 2);
}
template <class T>
[[nodiscard]] T lower_median(std::vector<T>& values) {
  return order_statistic(values, (values.size() - 1) / 2);
}

}  // namespace stepscope
