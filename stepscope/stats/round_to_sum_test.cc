// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/round_to_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace stepscope {
namespace {

using Parts = std::vector<double>;
using Whole = std::vector<std::int64_t>;

TEST(RoundToSum, RoundsTheLargestRemaindersUp) {
  EXPECT_EQ(round_to_sum(Parts{1.5, 2.2, 3.3}), (Whole{2, 2, 3}));
  EXPECT_EQ(round_to_sum(Parts{1.0 / 3, 1.0 / 3, 1.0 / 3}), (Whole{1, 0, 0}));
}

TEST(RoundToSum, LeavesWholePartsAlone) {
  EXPECT_EQ(round_to_sum(Parts{5, 0, -3}), (Whole{5, 0, -3}));
  EXPECT_EQ(round_to_sum(Parts{}), Whole{});
}

TEST(RoundToSum, KeepsTheSumAndMovesNoPartByOne) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> part(-1e9, 1e9);
  for (int round = 0; round < 500; ++round) {
    Parts parts(1 + random() % 20);
    for (double& p : parts) p = random() % 4 == 0 ? 0 : part(random);
    const Whole whole = round_to_sum(parts);
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    EXPECT_NEAR(static_cast<double>(std::accumulate(whole.begin(), whole.end(), std::int64_t{0})),
                sum, 0.5001);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LT(std::abs(static_cast<double>(whole[i]) - parts[i]), 1);
    }
  }
}

}  // namespace
}  // namespace stepscope
