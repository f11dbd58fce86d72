// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/false_discovery.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stepscope {

std::vector<double> false_discovery_rates(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> q(p.size());
  double least = 1;
  for (std::size_t rank = p.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    least = std::min(least, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    q[i] = least;
  }
  return q;
}

}  // namespace stepscope
