// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace stepscope {
namespace {

TEST(Element, EveryBf16SurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    const float wide = to_float(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(wide)))) << bits;
    } else {
      ASSERT_EQ(to_bf16(wide), value) << bits;
    }
  }
}

// By definition the result is the nearer neighbour, and the even one of two that are equally near.
TEST(Element, RoundsToTheNearerNeighbourTiesToEven) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::uint32_t bits = random() & 0x7fffffffU;
    if (i % 4 == 0) bits = (bits & 0xffff0000U) | 0x8000U;  // a tie
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!(value < to_float({0x7f7f}))) continue;
    const auto low_bits = static_cast<std::uint16_t>(bits >> 16U);
    const double low = to_float({low_bits});
    const double high = to_float({static_cast<std::uint16_t>(low_bits + 1)});
    const double down = value - low;
    const double up = high - value;
    const bool take_low = down < up || (down == up && low_bits % 2 == 0);
    ASSERT_EQ(static_cast<double>(to_float(to_bf16(value))), take_low ? low : high) << bits;
    ASSERT_EQ(to_float(to_bf16(-value)), -to_float(to_bf16(value)));
  }
  EXPECT_TRUE(std::isinf(to_float(to_bf16(std::numeric_limits<float>::max()))));
}

TEST(Element, SizesAndNames) {
  EXPECT_EQ(element_bytes(ElementType::bf16), sizeof(Bf16));
  EXPECT_EQ(element_bytes(ElementType::f32), sizeof(float));
  EXPECT_EQ(element_name(ElementType::bf16), "bf16");
}

}  // namespace
}  // namespace stepscope
