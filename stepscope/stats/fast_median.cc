// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/fast_median.h"

#include <algorithm>
#include <span>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Neighbours are exchanged in turn. Their order is unknown in advance, so a branch on it is slow:
// the two comparisons differ, or a compiler makes one branch of both.
double median_of_few(std::span<double> values) {
  const std::size_t count = values.size();
  double* const v = values.data();
  for (std::size_t round = 0; round < count && count > 2; ++round)
    for (std::size_t i = round % 2; i + 1 < count; i += 2) {
      const double a = v[i];
      const double b = v[i + 1];
      v[i] = b < a ? b : a;
      v[i + 1] = b > a ? b : a;
    }
  const std::size_t upper = count / 2;
  return count % 2 != 0 ? v[upper] : (v[upper - 1] + v[upper]) / 2;
}

// A sample gives the narrow range around the median, so that few values are compared with each
// other. The values outside that range, and how many are below it, are left out.
std::size_t keep_middle(std::vector<double>& values, std::size_t stride, std::size_t sampled) {
  const std::size_t around = sampled / 16;
  std::vector<double> sample;
  for (std::size_t i = 0; i < sampled; ++i) sample.push_back(values[i * stride]);
  std::ranges::sort(sample);
  const double low = sample[sampled / 2 - around];
  const double high = sample[sampled / 2 + around];
  std::size_t below = 0;
  std::size_t above = 0;
  for (const double v : values) {
    below += static_cast<std::size_t>(v < low);
    above += static_cast<std::size_t>(v > high);
  }
  if ((values.size() - 1) / 2 < below || values.size() / 2 >= values.size() - above) return 0;
  std::size_t kept = 0;
  for (const double v : values) {
    values[kept] = v;
    kept += static_cast<std::size_t>(v >= low && v <= high);
  }
  values.resize(kept);
  return below;
}

}  // namespace

double fast_median(std::vector<double>& values) {
  constexpr std::size_t few = 16;
  constexpr std::size_t sampled = 4096;
  if (values.size() <= few) return median_of_few(values);
  const std::size_t lower = (values.size() - 1) / 2;
  const std::size_t upper = values.size() / 2;
  const std::size_t stride = values.size() / sampled;
  const std::size_t below = stride < 4 ? 0 : keep_middle(values, stride, sampled);
  const double high = order_statistic(values, upper - below);
  if (upper == lower) return high;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(upper - below);
  return (*std::max_element(values.begin(), middle) + high) / 2;
}

}  // namespace stepscope
