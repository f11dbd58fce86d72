// SPDX-License-Identifier: Apache-2.0
// The sum of squares of a vector that is divided among ranks, with the same bits for every
// division. Each square is exact in double. In units of the largest element's exponent the squares
// are whole numbers of 80 bits, and whole numbers can be added in any order.
//
//   1. each part: largest_exponent; the maximum over all parts (all_reduce max);
//   2. each part: add_squares in that unit; the sum of the limbs over all parts (all_reduce sum);
//   3. norm().
//
// A square is rounded to a multiple of 2^-80 of the largest possible square. The error of N
// elements is therefore at most N 2^-81 of that square.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "stepscope/base/element.h"

namespace stepscope::zero {

// The exponent of a value that is infinite or not a number.
inline constexpr std::int32_t not_finite = 255;

// The largest biased exponent (0 to 254) of the values; not_finite if a value is not finite; 0 for
// no values.
[[nodiscard]] std::int32_t largest_exponent(std::span<const float> values);
[[nodiscard]] std::int32_t largest_exponent(std::span<const Bf16> values);

// A whole number in limbs of 32 bits; the last limb has the sign and the rest. The limbs of up to
// 2^31 numbers can be added without carrying.
struct ExactSum {
  std::array<std::int64_t, 4> limbs{};
};

// Adds the squares of `values`. Their exponents must not exceed `exponent`, which must be finite.
void add_squares(std::span<const float> values, std::int32_t exponent, ExactSum& sum);
void add_squares(std::span<const Bf16> values, std::int32_t exponent, ExactSum& sum);

// The square root of the sum.
[[nodiscard]] double norm(const ExactSum& sum, std::int32_t exponent);

}  // namespace stepscope::zero
