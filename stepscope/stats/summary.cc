// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stepscope {
namespace {

template <class T>
double distance(T from, T to) {
  return static_cast<double>(to - from);
}

template <class T>
double mean_of(std::span<const T> values) {
  const T origin = values.front();
  double sum = 0;
  for (const T v : values) sum += distance(origin, v);
  return static_cast<double>(origin) + sum / static_cast<double>(values.size());
}

template <class T>
std::optional<double> stdev_of(std::span<const T> values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const T origin = values.front();
  double sum = 0;
  for (const T v : values) sum += distance(origin, v);
  const double mean_offset = sum / n;
  double squares = 0;
  for (const T v : values) {
    const double d = distance(origin, v) - mean_offset;
    squares += d * d;
  }
  return std::sqrt(squares / (n - 1));
}

template <class T>
std::optional<Summary> summary_of(std::span<const T> values) {
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return Summary{.count = values.size(),
                 .mean = mean_of(values),
                 .stdev = stdev_of(values),
                 .min = static_cast<double>(*low),
                 .max = static_cast<double>(*high)};
}

struct Place {
  std::size_t below = 0;
  double fraction = 0;
};

Place place_of(std::size_t count, double q) {
  const double at = static_cast<double>(count - 1) * std::clamp(q, 0.0, 1.0);
  const double below = std::floor(at);
  return {static_cast<std::size_t>(below), at - below};
}

template <class T>
double between(T low, T high, double fraction) {
  return static_cast<double>(low) + fraction * distance(low, high);
}

template <class T>
std::optional<double> quantile_of(std::span<const T> values, double q) {
  if (values.empty()) return std::nullopt;
  const Place place = place_of(values.size(), q);
  std::vector<T> copy(values.begin(), values.end());
  const auto low = copy.begin() + static_cast<std::ptrdiff_t>(place.below);
  std::nth_element(copy.begin(), low, copy.end());
  if (place.fraction == 0) return static_cast<double>(*low);
  return between(*low, *std::min_element(low + 1, copy.end()), place.fraction);
}

template <class T>
std::optional<double> quantile_of_sorted(std::span<const T> ascending, double q) {
  if (ascending.empty()) return std::nullopt;
  const Place place = place_of(ascending.size(), q);
  const T low = ascending[place.below];
  if (place.fraction == 0) return static_cast<double>(low);
  return between(low, ascending[place.below + 1], place.fraction);
}

}  // namespace

std::optional<Summary> summarize(std::span<const double> values) { return summary_of(values); }
std::optional<Summary> summarize(std::span<const std::int64_t> values) {
  return summary_of(values);
}

std::optional<double> mean(std::span<const double> values) {
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}
std::optional<double> mean(std::span<const std::int64_t> values) {
  return values.empty() ? std::nullopt : std::optional(mean_of(values));
}

std::optional<double> sample_stdev(std::span<const double> values) { return stdev_of(values); }
std::optional<double> sample_stdev(std::span<const std::int64_t> values) {
  return stdev_of(values);
}

std::optional<double> quantile(std::span<const double> values, double q) {
  return quantile_of(values, q);
}
std::optional<double> quantile(std::span<const std::int64_t> values, double q) {
  return quantile_of(values, q);
}
std::optional<double> quantile_sorted(std::span<const double> ascending, double q) {
  return quantile_of_sorted(ascending, q);
}
std::optional<double> quantile_sorted(std::span<const std::int64_t> ascending, double q) {
  return quantile_of_sorted(ascending, q);
}

std::optional<double> median(std::span<const double> values) { return quantile_of(values, 0.5); }
std::optional<double> median(std::span<const std::int64_t> values) {
  return quantile_of(values, 0.5);
}

}  // namespace stepscope
