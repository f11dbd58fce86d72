// SPDX-License-Identifier: Apache-2.0
// Summary statistics: count, mean, sample standard deviation, extremes, quantiles. An undefined
// value is absent: the mean of no values, the deviation of one. Sums are relative to the first
// value, so large instants lose no precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

namespace stepscope {

// Doubles, or times in ns.
template <class Values>
concept Numbers = std::ranges::contiguous_range<Values> &&
                  (std::same_as<std::ranges::range_value_t<Values>, double> ||
                   std::same_as<std::ranges::range_value_t<Values>, std::int64_t>);

template <Numbers Values>
[[nodiscard]] std::optional<double> mean(const Values& values) {
  if (values.empty()) return std::nullopt;
  const auto origin = values.front();
  double sum = 0;
  for (const auto v : values) sum += static_cast<double>(v - origin);
  return static_cast<double>(origin) + sum / static_cast<double>(values.size());
}

// sqrt(sum (x - mean)^2 / (n - 1)); absent below two values.
template <Numbers Values>
[[nodiscard]] std::optional<double> sample_stdev(const Values& values) {
  if (values.size() < 2) return std::nullopt;
  const auto origin = values.front();
  double sum = 0;
  for (const auto v : values) sum += static_cast<double>(v - origin);
  const double mean_offset = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const auto v : values) {
    const double d = static_cast<double>(v - origin) - mean_offset;
    squares += d * d;
  }
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

struct Summary {
  std::size_t count = 0;
  double mean = 0;              // for one value or more
  std::optional<double> stdev;  // sample (n - 1); absent below two values
  double min = 0;
  double max = 0;
};

template <Numbers Values>
[[nodiscard]] std::optional<Summary> summarize(const Values& values) {
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(values);
  return Summary{.count = values.size(),
                 .mean = *mean(values),
                 .stdev = sample_stdev(values),
                 .min = static_cast<double>(low),
                 .max = static_cast<double>(high)};
}

// The key with the largest count; of several the smallest; absent for none.
template <class Key, class Count>
[[nodiscard]] std::optional<Key> most_frequent(const std::map<Key, Count>& counts) {
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

// The value at `place` in ascending order, for any ordered type. It reorders the values, O(n).
// REQUIRES: place < values.size().
template <class T>
[[nodiscard]] T order_statistic(std::vector<T>& values, std::size_t place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, at);
  return *at;
}
// Medians that are one of the values; at least one value must be there: at n / 2 and at (n - 1) /
// 2.
template <class T>
[[nodiscard]] T upper_median(std::vector<T>& values) {
  return order_statistic(values, values.size() / 2);
}
template <class Values>
[[nodiscard]] auto upper_median_sorted(const Values& ascending) {
  return ascending[ascending.size() / 2];
}
template <class T>
[[nodiscard]] T lower_median(std::vector<T>& values) {
  return order_statistic(values, (values.size() - 1) / 2);
}
// Among `size` values in ascending order: the place of the lower median of the others if the one at
// `left_out` is left out. REQUIRES: size > 1.
[[nodiscard]] constexpr std::size_t lower_median_without(std::size_t left_out, std::size_t size) {
  const std::size_t place = (size - 2) / 2;
  return place < left_out ? place : place + 1;
}
// The least value with at least half of the weight up to it, from pairs of value and weight.
[[nodiscard]] inline std::optional<double> weighted_median(
    std::vector<std::pair<double, double>> weighted) {
  std::ranges::sort(weighted);
  double half = 0;
  for (const auto& [value, weight] : weighted) half += weight / 2;
  for (const auto& [value, weight] : weighted) {
    half -= weight;
    if (half <= 0) return value;
  }
  return std::nullopt;
}

// Linear interpolation between order statistics at (n - 1) q: Hyndman and Fan's type 7 (numpy's
// default), with q clamped to [0, 1]. The values are in ascending order; for several quantiles of
// one set. Absent for no values. NaN values are not allowed.
template <Numbers Values>
[[nodiscard]] std::optional<double> quantile_sorted(const Values& ascending, double q) {
  if (ascending.empty()) return std::nullopt;
  const double at = static_cast<double>(ascending.size() - 1) * std::clamp(q, 0.0, 1.0);
  const auto below = static_cast<std::size_t>(at);
  const double fraction = at - static_cast<double>(below);
  const auto low = ascending[below];
  if (fraction == 0) return static_cast<double>(low);
  return static_cast<double>(low) + fraction * static_cast<double>(ascending[below + 1] - low);
}

// The same of values in any order. Copies them and selects, O(n).
template <Numbers Values>
[[nodiscard]] std::optional<double> quantile(const Values& values, double q) {
  std::vector<std::ranges::range_value_t<Values>> copy(values.begin(), values.end());
  if (copy.empty()) return std::nullopt;
  const double at = static_cast<double>(copy.size() - 1) * std::clamp(q, 0.0, 1.0);
  const auto low = copy.begin() + static_cast<std::ptrdiff_t>(at);
  std::ranges::nth_element(copy, low);
  if (low + 1 != copy.end()) std::iter_swap(low + 1, std::min_element(low + 1, copy.end()));
  return quantile_sorted(copy, q);
}

template <Numbers Values>
[[nodiscard]] std::optional<double> median(const Values& values) {
  return quantile(values, 0.5);
}

}  // namespace stepscope
