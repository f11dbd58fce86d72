// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/fma_peak.h"

#include <gtest/gtest.h>

namespace stepscope::nn {
namespace {

TEST(FmaPeak, IsMeasuredOfTheTypesThatNetworksComputeIn) {
  using namespace std::chrono_literals;
  const auto f32 = fma_peak(ElementType::f32, 2ms);
  ASSERT_TRUE(f32);
  EXPECT_GT(f32->rate.value, 1e8);  // an emulator would reach this
  EXPECT_FALSE(f32->instructions.empty());
  const auto bf16 = fma_peak(ElementType::bf16, 2ms);
  EXPECT_TRUE(!bf16 || bf16->rate.value > 1e8);
  EXPECT_FALSE(fma_peak(ElementType::f64, 2ms));
  EXPECT_FALSE(fma_peak(ElementType::u8, 2ms));
}

}  // namespace
}  // namespace stepscope::nn
