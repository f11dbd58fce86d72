// SPDX-License-Identifier: Apache-2.0
// The sum of squares of a vector that lies in parts on several ranks, the same bits however it is
// divided: each square is exact in double; in units of the largest element's exponent the squares
// are whole numbers of 80 bits, and whole numbers may be added in any order.
//
//   1. each part: largest_exponent; the largest of all parts is agreed on (all_reduce max);
//   2. each part: add_squares in that unit; the limbs are summed over parts (all_reduce sum);
//   3. norm().
//
// A square is rounded to a multiple of 2^-80 of the largest possible one, so N elements err by at
// most N 2^-81 of it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "stepscope/base/element.h"

namespace stepscope::zero {

// Of a value that is infinite or not a number.
inline constexpr std::int32_t not_finite = 255;

// The largest biased exponent (0 to 254) of the values; not_finite where one is; 0 of none.
[[nodiscard]] std::int32_t largest_exponent(std::span<const float> values);
[[nodiscard]] std::int32_t largest_exponent(std::span<const Bf16> values);

// A whole number, in limbs of 32 bits (the last with the sign and the rest): limbs of up to 2^31
// numbers may be added without carrying.
struct ExactSum {
  std::array<std::int64_t, 4> limbs{};
};

// Adds the squares of `values`; none has an exponent above `exponent`, which is finite.
void add_squares(std::span<const float> values, std::int32_t exponent, ExactSum& sum);
void add_squares(std::span<const Bf16> values, std::int32_t exponent, ExactSum& sum);

// The square root of the sum.
[[nodiscard]] double norm(const ExactSum& sum, std::int32_t exponent);

}  // namespace stepscope::zero
