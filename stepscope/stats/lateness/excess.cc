// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/lateness/excess.h"

#include <algorithm>
#include <cmath>

#include "stepscope/stats/hampel.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_steps = 3;
// The median deviation of few steps is often too small by chance: with sure_once (1 + 12 / n^1.5)
// standard errors less than one in a hundred series of n normal values stands out (excess_test.cc),
// from n = 4 on.
constexpr double of_few_steps = 12;
constexpr double share_of_usual = 0.3;  // that a step with the excess has
constexpr double before_change = 0.35;  // of the later excess, at most, is there before
// The standard error of the median of n normal values, times sqrt(n) / their deviation.
constexpr double error_of_median = 1.2533;

}  // namespace

bool stands_out(std::span<const double> excess, double sure) {
  if (excess.size() < 2) return false;
  if (excess.size() < least_steps) {
    const auto [least, most] = std::ranges::minmax(excess);
    return most > 0 && 2 * least >= most;
  }
  const auto n = static_cast<double>(excess.size());
  const double usual = *median(excess);
  const double error = error_of_median * *robust_deviation(excess) / std::sqrt(n);
  const auto with =
      std::ranges::count_if(excess, [&](double x) { return x >= share_of_usual * usual; });
  return is_late({.usual = usual,
                  .noise = sure * (1 + of_few_steps / std::pow(n, 1.5)) * error,
                  .late_rounds = static_cast<std::size_t>(with),
                  .rounds = excess.size()});
}

std::size_t begins_at(std::span<const double> excess) {
  const std::size_t none = excess.size();
  std::size_t best = none;
  double most = 0;
  for (std::size_t s = 1; s + 1 < excess.size(); ++s) {
    const auto before = excess.first(s);
    const auto after = excess.subspan(s);
    const double change =
        (*mean(after) - *mean(before)) *
        std::sqrt(static_cast<double>(before.size()) * static_cast<double>(after.size()));
    if (change <= most) continue;
    most = change;
    best = s;
  }
  if (best == none) return none;
  const auto before = excess.first(best);
  const auto after = excess.subspan(best);
  if (after.size() < least_steps) return none;
  const bool fresh = *median(before) <= before_change * *median(after) &&
                     *std::ranges::max_element(before) < *std::ranges::min_element(after);
  return fresh && stands_out(after) ? best : none;
}

}  // namespace stepscope
