// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/hampel.h"

#include <algorithm>
#include <cmath>

#include "stepscope/stats/summary.h"

namespace stepscope {

namespace {

std::vector<double> distances(std::span<const double> values, double middle) {
  std::vector<double> away(values.size());
  std::ranges::transform(values, away.begin(), [&](double x) { return std::fabs(x - middle); });
  return away;
}

}  // namespace

std::optional<double> robust_deviation(std::span<const double> values) {
  const auto middle = median(values);
  if (!middle) return std::nullopt;
  constexpr double of_median = 1.482602218505602;  // 1 / the normal quantile of 3/4
  return of_median * *median(distances(values, *middle));
}

std::optional<HampelLimits> hampel_limits(std::span<const double> values, double k) {
  const auto middle = median(values);
  if (!middle) return std::nullopt;
  constexpr double of_mean = 1.2533141373155003;  // sqrt(pi / 2)
  double deviation = *robust_deviation(values);
  if (!(deviation > 0)) deviation = of_mean * *mean(distances(values, *middle));
  return HampelLimits{.median = *middle,
                      .deviation = deviation,
                      .low = *middle - k * deviation,
                      .high = *middle + k * deviation};
}

std::optional<std::pair<double, double>> usual_interval(std::span<const double> values) {
  if (values.size() < fewest_with_outliers) return std::nullopt;
  std::vector<double> logs(values.size());
  std::ranges::transform(values, logs.begin(), [](double x) { return std::log(x); });
  const auto limits = hampel_limits(logs, values.size() < 10 ? 6 : 3);
  if (!(limits->deviation > 0)) return std::nullopt;
  const double least = std::log(1.01);
  return std::pair(std::exp(std::min(limits->low, limits->median - least)),
                   std::exp(std::max(limits->high, limits->median + least)));
}

std::vector<double> clipped(std::span<const double> values, const HampelLimits& limits) {
  std::vector<double> kept(values.begin(), values.end());
  for (double& v : kept) v = std::clamp(v, limits.low, limits.high);
  return kept;
}

}  // namespace stepscope
