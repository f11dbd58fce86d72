// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/engine/exact_norm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {
namespace {

__extension__ using Int128 = __int128;

constexpr int half_bits = 40;  // a square in units of 2^-40, then the rest in units of 2^-80
constexpr std::size_t lanes = 16;
constexpr std::size_t block = 4096;  // per lane: 4096 halves of 2^40 stay whole in a double

float as_float(float value) { return value; }
float as_float(Bf16 value) { return to_float(value); }

// 2^-(exponent - 126): scales every value below 1.
double unit_of(std::int32_t exponent) { return std::ldexp(1.0, 126 - exponent); }

// Sums of both halves of the squares, whole numbers in doubles; at most block * lanes values.
struct Halves {
  std::array<double, lanes> high{};
  std::array<double, lanes> low{};
};

template <class T>
[[gnu::always_inline]] inline Halves halves_of(const T* values, std::size_t count, double unit) {
  // Adding and subtracting this constant rounds to a whole number (ties to even).
  constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
  constexpr double scale = 1099511627776.0;       // 2^half_bits
  static_assert(scale == static_cast<double>(std::int64_t{1} << half_bits));
  Halves sums;
  for (std::size_t i = 0; i < count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double x = static_cast<double>(as_float(values[i + lane])) * unit;
      const double square = x * x * scale;  // exact: 48 bits
      const double high = (square + rounder) - rounder;
      const double rest = (square - high) * scale;
      sums.high[lane] += high;
      sums.low[lane] += (rest + rounder) - rounder;
    }
  }
  return sums;
}

template <class T>
Halves halves_any(const T* values, std::size_t count, double unit) {
  return halves_of(values, count, unit);
}
template <class T>
STEPSCOPE_TARGET("avx2")
Halves halves_avx2(const T* values, std::size_t count, double unit) {
  return halves_of(values, count, unit);
}
template <class T>
STEPSCOPE_TARGET("avx512f")
Halves halves_avx512(const T* values, std::size_t count, double unit) {
  return halves_of(values, count, unit);
}

template <class T>
Halves halves(const T* values, std::size_t count, double unit) {
  static const Isa level = available_isas().back();
  if (level == Isa::avx512) return halves_avx512(values, count, unit);
  return level == Isa::avx2 ? halves_avx2(values, count, unit) : halves_any(values, count, unit);
}

Int128 whole(const Halves& sums) {
  Int128 high = 0;
  Int128 low = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    high += static_cast<std::int64_t>(sums.high[lane]);
    low += static_cast<std::int64_t>(sums.low[lane]);
  }
  return high * (std::int64_t{1} << half_bits) + low;
}

void add(Int128 value, ExactSum& sum) {
  constexpr std::int64_t mask = 0xffffffff;
  // `value` is a sum of squares, but a low half rounded down may make a block's rest negative.
  const bool negative = value < 0;
  if (negative) value = -value;
  for (std::size_t limb = 0; limb < sum.limbs.size(); ++limb) {
    const auto part = static_cast<std::int64_t>(value) & mask;
    sum.limbs[limb] += negative ? -part : part;
    value >>= 32;
  }
}

template <class T>
void add_squares_of(std::span<const T> values, std::int32_t exponent, ExactSum& sum) {
  check(exponent >= 0 && exponent < not_finite, "only finite values have squares to add");
  const double unit = unit_of(exponent);
  Int128 total = 0;
  while (values.size() >= lanes) {
    const std::size_t count = std::min(values.size(), block * lanes) / lanes * lanes;
    total += whole(halves(values.data(), count, unit));
    values = values.subspan(count);
  }
  std::array<T, lanes> rest{};  // zeros add nothing
  std::ranges::copy(values, rest.begin());
  total += whole(halves(rest.data(), rest.size(), unit));
  add(total, sum);
}

}  // namespace

std::int32_t largest_exponent(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7f800000U);
  }
  return static_cast<std::int32_t>(largest >> 23U);
}

std::int32_t largest_exponent(std::span<const Bf16> values) {
  std::uint16_t largest = 0;
  for (const Bf16 value : values) {
    largest = std::max(largest, static_cast<std::uint16_t>(value.bits & 0x7f80U));
  }
  return static_cast<std::int32_t>(largest >> 7U);
}

void add_squares(std::span<const float> values, std::int32_t exponent, ExactSum& sum) {
  add_squares_of(values, exponent, sum);
}
void add_squares(std::span<const Bf16> values, std::int32_t exponent, ExactSum& sum) {
  add_squares_of(values, exponent, sum);
}

double norm(const ExactSum& sum, std::int32_t exponent) {
  Int128 total = 0;
  for (std::size_t limb = sum.limbs.size(); limb-- > 0;) {
    total = total * (std::int64_t{1} << 32) + sum.limbs[limb];
  }
  const double squares = std::ldexp(static_cast<double>(total), -2 * half_bits);
  return std::ldexp(std::sqrt(squares), exponent - 126);
}

}  // namespace stepscope::zero
