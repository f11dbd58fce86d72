// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/hampel.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

using Doubles = std::vector<double>;

TEST(Hampel, IsNotBlindedByWhatItLooksFor) {
  // Two of eight are outliers. By mean and sample deviation their z is only 1.62 (below 2).
  const Doubles x = {100, 101, 99, 100, 102, 98, 200, 200};
  const auto limits = hampel_limits(x);
  ASSERT_TRUE(limits);
  EXPECT_DOUBLE_EQ(limits->median, 100.5);
  EXPECT_NEAR(limits->deviation, 1.4826022 * 1.5, 1e-6);
  EXPECT_LT(limits->high, 200);
  EXPECT_LT(limits->low, 98);
}

TEST(Hampel, OfMostlyEqualValuesTakesTheMeanDeviation) {
  const auto limits = hampel_limits(Doubles{5, 5, 5, 5, 5, 5, 9});
  ASSERT_TRUE(limits);
  EXPECT_NEAR(limits->deviation, 1.2533141373155003 * 4 / 7, 1e-12);
  EXPECT_LT(limits->high, 9);
}

TEST(Hampel, OfEqualValuesIsThatValue) {
  const auto limits = hampel_limits(Doubles(4, 2.5));
  EXPECT_EQ(limits->low, 2.5);
  EXPECT_EQ(limits->high, 2.5);
  EXPECT_FALSE(hampel_limits(Doubles{}));
}

TEST(Hampel, TheIntervalOfLogarithmsIsSymmetricAsARatio) {
  const auto usual = usual_interval(Doubles{90, 100, 111.1, 100, 95, 105});
  ASSERT_TRUE(usual);
  EXPECT_NEAR(usual->first * usual->second, 100 * 100, 1e-6);
  EXPECT_LT(usual->first, 90);
  EXPECT_FALSE(usual_interval(Doubles(6, 2.5)));
  EXPECT_FALSE(usual_interval(Doubles{}));
}

TEST(Hampel, ClippingMovesOnlyWhatLiesBeyond) {
  const HampelLimits limits{.median = 5, .deviation = 1, .low = 2, .high = 8};
  EXPECT_EQ(clipped(Doubles{1, 2, 5, 8, 100}, limits), (Doubles{2, 2, 5, 8, 8}));
}

TEST(Hampel, FewValuesShowNoOutlierOfNoise) {
  EXPECT_FALSE(usual_interval(Doubles{150.2, 150.3, 149.0}));
  EXPECT_FALSE(usual_interval(Doubles{100, 100.1, 100.2, 300}));
  const auto five = usual_interval(Doubles{100, 102, 99, 101, 300});
  ASSERT_TRUE(five);
  EXPECT_LT(five->second, 300);
  EXPECT_GT(five->second, 105);
}

TEST(Hampel, WhatIsWithinAHundredthIsUsual) {
  const auto usual = usual_interval(Doubles{37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 36.98});
  ASSERT_TRUE(usual);
  EXPECT_LT(usual->first, 36.98);
  EXPECT_GT(usual->first, 36.5);
}

}  // namespace
}  // namespace stepscope
