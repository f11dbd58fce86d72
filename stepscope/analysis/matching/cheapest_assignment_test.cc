// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/cheapest_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stepscope {
namespace {

std::int64_t cost_of(const std::vector<std::int64_t>& cost,
                     const std::vector<std::size_t>& columns) {
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < columns.size(); ++r) {
    const std::int64_t one = cost[r * columns.size() + columns[r]];
    if (one == no_assignment) return no_assignment;
    sum += one;
  }
  return sum;
}

TEST(CheapestAssignment, IsTheCheapestOfAllOrders) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + random() % 6;
    std::vector<std::int64_t> cost(n * n);
    for (std::int64_t& c : cost)
      c = random() % 4 == 0 ? no_assignment : static_cast<std::int64_t>(random() % 50);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::int64_t least = no_assignment;
    do least = std::min(least, cost_of(cost, order));
    while (std::ranges::next_permutation(order).found);
    const auto found = cheapest_assignment(cost, n);
    ASSERT_EQ(found.has_value(), least != no_assignment) << trial;
    if (!found) continue;
    EXPECT_EQ(cost_of(cost, *found), least) << trial;
  }
}

}  // namespace
}  // namespace stepscope
