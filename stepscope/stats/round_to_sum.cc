// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/round_to_sum.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace stepscope {

std::vector<std::int64_t> round_to_sum(std::span<const double> parts) {
  std::vector<std::int64_t> whole;
  std::vector<double> remainders;
  whole.reserve(parts.size());
  remainders.reserve(parts.size());
  double left = 0;
  for (const double part : parts) {
    const double floor = std::floor(part);
    whole.push_back(static_cast<std::int64_t>(floor));
    remainders.push_back(part - floor);
    left += part - floor;
  }
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const auto extra = static_cast<std::size_t>(std::llround(left));
  for (std::size_t i = 0; i < extra; ++i) ++whole[order[i]];
  return whole;
}

}  // namespace stepscope
