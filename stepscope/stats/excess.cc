// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/excess.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_steps = 3;
// Standard errors, for many steps. Of few steps the median deviation is often too small by chance:
// with 3 (1 + 12 / n^1.5) less than one in a hundred series of n normal values stands out
// (excess_test.cc), from n = 4 on.
constexpr double sure = 3;
constexpr double steady = 0.3;          // of the usual excess, in three of four steps
constexpr double before_change = 0.35;  // of the later excess, at most, is there before
// The deviation of normal values from their median deviation, and the error of their median.
constexpr double error_of_median = 1.4826 * 1.2533;

double at_quantile(std::span<const double> v, double q) { return quantile(v, q).value_or(0); }

}  // namespace

bool stands_out(std::span<const double> excess) {
  const double usual = at_quantile(excess, 0.5);
  if (excess.size() < 2 || usual <= 0) return false;
  if (excess.size() < least_steps)
    return 2 * *std::ranges::min_element(excess) >= *std::ranges::max_element(excess);
  std::vector<double> deviation;
  for (const double x : excess) deviation.push_back(std::abs(x - usual));
  const auto n = static_cast<double>(excess.size());
  const double error = error_of_median * at_quantile(deviation, 0.5) / std::sqrt(n);
  return usual > sure * (1 + 12 / std::pow(n, 1.5)) * error &&
         at_quantile(excess, 0.25) >= steady * usual;
}

std::size_t begins_at(std::span<const double> excess) {
  const std::size_t none = excess.size();
  std::size_t best = none;
  double most = 0;
  for (std::size_t s = 1; s + 1 < excess.size(); ++s) {
    const auto before = excess.first(s);
    const auto after = excess.subspan(s);
    const double change =
        (mean(after).value_or(0) - mean(before).value_or(0)) *
        std::sqrt(static_cast<double>(before.size()) * static_cast<double>(after.size()));
    if (change <= most) continue;
    most = change;
    best = s;
  }
  if (best == none) return none;
  const auto before = excess.first(best);
  const auto after = excess.subspan(best);
  if (after.size() < least_steps) return none;
  const bool fresh = at_quantile(before, 0.5) <= before_change * at_quantile(after, 0.5) &&
                     *std::ranges::max_element(before) < *std::ranges::min_element(after);
  return fresh && stands_out(after) ? best : none;
}

}  // namespace stepscope
