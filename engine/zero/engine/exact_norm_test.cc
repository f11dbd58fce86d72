// SPDX-License-Identifier: Apache-2.0
// Compares the norm with sums in long double, and its bits for every division of the vector.
#include "engine/zero/engine/exact_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace stepscope::zero {
namespace {

// Magnitudes over 60 powers of two, both signs.
std::vector<float> values_of(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> power(-40, 20);
  std::vector<float> values(count);
  for (float& value : values) value = std::ldexp(normal(random), power(random));
  return values;
}

template <class T>
double norm_in_parts(std::span<const T> values, std::span<const std::size_t> cuts) {
  std::int32_t exponent = 0;
  std::vector<std::span<const T>> parts;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    parts.push_back(values.subspan(begin, cut - begin));
    begin = cut;
  }
  parts.push_back(values.subspan(begin));
  for (const auto part : parts) exponent = std::max(exponent, largest_exponent(part));
  ExactSum all;
  for (const auto part : parts) {
    ExactSum one;
    add_squares(part, exponent, one);
    for (std::size_t i = 0; i < one.limbs.size(); ++i) all.limbs[i] += one.limbs[i];
  }
  return norm(all, exponent);
}

long double reference(std::span<const float> values) {
  long double sum = 0;
  for (const float value : values) sum += static_cast<long double>(value) * value;
  return std::sqrt(sum);
}

TEST(ExactNorm, IsTheNorm) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 200'000U}) {
    const auto values = values_of(count, 7);
    const double got = norm_in_parts<float>(values, {});
    const auto wanted = static_cast<double>(reference(values));
    EXPECT_NEAR(got, wanted, 1e-15 * wanted) << count;
  }
  EXPECT_EQ(norm_in_parts<float>(std::vector<float>{3, -4}, {}), 5.0);
  EXPECT_EQ(norm_in_parts<float>(std::vector<float>(4, 0.0F), {}), 0.0);
}

TEST(ExactNorm, HasTheSameBitsHoweverTheVectorIsDivided) {
  const auto values = values_of(100'003, 11);
  const double whole = norm_in_parts<float>(values, {});
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<std::size_t> cuts(static_cast<std::size_t>(trial % 7 + 1));
    for (std::size_t& cut : cuts) cut = random() % (values.size() + 1);
    std::ranges::sort(cuts);
    const double parts = norm_in_parts<float>(values, cuts);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(parts), std::bit_cast<std::uint64_t>(whole));
  }
  auto shuffled = values;
  std::ranges::shuffle(shuffled, random);
  EXPECT_EQ(norm_in_parts<float>(shuffled, {}), whole);
}

TEST(ExactNorm, OfBfloat16IsThatOfTheSameValuesInF32) {
  std::vector<Bf16> narrow;
  std::vector<float> wide;
  for (const float value : values_of(5003, 5)) {
    narrow.push_back(to_bf16(value));
    wide.push_back(to_float(narrow.back()));
  }
  const std::vector<std::size_t> cuts = {1, 777, 4000};
  EXPECT_EQ(norm_in_parts<Bf16>(narrow, cuts), norm_in_parts<float>(wide, {}));
}

TEST(ExactNorm, OfTheSmallestAndTheLargestNumbers) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(norm_in_parts<float>(std::vector<float>(4, tiny), {}), 2.0 * tiny);
  const float huge = std::numeric_limits<float>::max();
  EXPECT_EQ(norm_in_parts<float>(std::vector<float>(4, huge), {}), 2.0 * huge);
}

TEST(ExactNorm, SeesWhatIsNotFinite) {
  const float infinite = std::numeric_limits<float>::infinity();
  std::vector<float> values(100, 1.5F);
  EXPECT_EQ(largest_exponent(values), 127);
  values[63] = -infinite;
  EXPECT_EQ(largest_exponent(values), not_finite);
  values[63] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(largest_exponent(values), not_finite);
  const std::vector<Bf16> narrow = {to_bf16(1.0F), to_bf16(infinite)};
  EXPECT_EQ(largest_exponent(narrow), not_finite);
}

}  // namespace
}  // namespace stepscope::zero
