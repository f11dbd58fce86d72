// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/learning_rate.h"

#include <gtest/gtest.h>

namespace stepscope::zero {
namespace {

TEST(LearningRate, WarmsUpLinearlyThenStays) {
  const LearningRate rate{.peak = 1.0, .warmup = 4};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(3), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(1'000'000), 1.0);
}

TEST(LearningRate, FallsLinearlyAndByACosineToItsFloor) {
  LearningRate rate{.peak = 1.0, .floor = 0.1, .warmup = 10, .total = 110, .decay = Decay::linear};
  EXPECT_DOUBLE_EQ(rate.at(10), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(60), 0.55);
  EXPECT_DOUBLE_EQ(rate.at(110), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(500), 0.1);
  rate.decay = Decay::cosine;
  EXPECT_DOUBLE_EQ(rate.at(10), 1.0);
  EXPECT_NEAR(rate.at(35), 0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_DOUBLE_EQ(rate.at(110), 0.1);
}

TEST(LearningRate, NeverFallsWhereNoTotalIsGiven) {
  const LearningRate rate{.peak = 0.5, .decay = Decay::cosine};
  EXPECT_DOUBLE_EQ(rate.at(12345), 0.5);
}

}  // namespace
}  // namespace stepscope::zero
