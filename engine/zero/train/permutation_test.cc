// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/train/permutation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace stepscope::zero {
namespace {

TEST(Permutation, EachNumberStandsOnceForEverySize) {
  for (std::uint64_t n = 1; n <= 300; ++n) {
    std::vector<bool> seen(n);
    const Permutation order(n, n * 17);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t x = order(i);
      ASSERT_LT(x, n);
      ASSERT_FALSE(seen[x]);
      seen[x] = true;
    }
  }
}

TEST(Permutation, HoldsForMoreElementsThanMemoryHas) {
  const std::uint64_t n = (1ULL << 62U) + 12345;
  const Permutation order(n, 1);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t x = order(n - 1 - i);
    EXPECT_LT(x, n);
    EXPECT_TRUE(seen.insert(x).second);
  }
}

// Each of the 6 orders of 3 elements by chance: 1000 of 6000 keys, standard deviation 29.
TEST(Permutation, KeysGiveAllOrdersAlike) {
  std::vector<int> count(27);
  for (std::uint64_t key = 0; key < 6000; ++key) {
    const Permutation order(3, key);
    ++count[order(0) * 9 + order(1) * 3 + order(2)];
  }
  int orders = 0;
  for (const int c : count) {
    if (c == 0) continue;
    ++orders;
    EXPECT_NEAR(c, 1000, 150);
  }
  EXPECT_EQ(orders, 6);
}

// Neighbours are far apart: the mean |x(i+1) - x(i)| of a random order is n/3.
TEST(Permutation, NeighboursAreSpread) {
  constexpr std::uint64_t n = 100000;
  const Permutation order(n, 42);
  double sum = 0;
  int kept = 0;
  for (std::uint64_t i = 0; i + 1 < n; ++i) {
    sum += std::abs(static_cast<double>(order(i + 1)) - static_cast<double>(order(i)));
    kept += order(i) == i ? 1 : 0;
  }
  EXPECT_NEAR(sum / n, n / 3.0, n * 0.005);
  EXPECT_LT(kept, 10);
}

}  // namespace
}  // namespace stepscope::zero
