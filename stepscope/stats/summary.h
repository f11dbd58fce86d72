// SPDX-License-Identifier: Apache-2.0
// What a set of numbers looks like: count, mean, sample standard deviation, extremes, quantiles.
// Every answer that the numbers cannot give is absent: the mean of none, the deviation of one.
// Times in ns go in as they are (std::int64_t); sums are kept relative to the first value, so long
// instants lose nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stepscope {

struct Summary {
  std::size_t count = 0;
  double mean = 0;              // of one value or more
  std::optional<double> stdev;  // sample (n - 1); absent below two values
  double min = 0;
  double max = 0;
};

// Absent for an empty span. Two passes.
[[nodiscard]] std::optional<Summary> summarize(std::span<const double> values);
[[nodiscard]] std::optional<Summary> summarize(std::span<const std::int64_t> values);

[[nodiscard]] std::optional<double> mean(std::span<const double> values);
[[nodiscard]] std::optional<double> mean(std::span<const std::int64_t> values);

// sqrt(sum (x - mean)^2 / (n - 1)); absent below two values.
[[nodiscard]] std::optional<double> sample_stdev(std::span<const double> values);
[[nodiscard]] std::optional<double> sample_stdev(std::span<const std::int64_t> values);

[[nodiscard]] std::optional<double> min_of(std::span<const double> values);
[[nodiscard]] std::optional<double> max_of(std::span<const double> values);

// Linear interpolation between order statistics at (n - 1) q, Hyndman and Fan's type 7 (numpy's
// default); q in [0, 1], clamped. Copies the values and selects, O(n). Absent for an empty span;
// NaN values are not allowed.
[[nodiscard]] std::optional<double> quantile(std::span<const double> values, double q);
[[nodiscard]] std::optional<double> quantile(std::span<const std::int64_t> values, double q);
// The same on values already in ascending order, without a copy: for several quantiles of one set.
[[nodiscard]] std::optional<double> quantile_sorted(std::span<const double> ascending, double q);
[[nodiscard]] std::optional<double> quantile_sorted(std::span<const std::int64_t> ascending,
                                                    double q);

[[nodiscard]] std::optional<double> median(std::span<const double> values);
[[nodiscard]] std::optional<double> median(std::span<const std::int64_t> values);

}  // namespace stepscope
