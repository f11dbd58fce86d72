// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/dropout.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"
#include "engine/nn/kernels/philox.h"

namespace stepscope::nn {
namespace {

template <class T>
class Dropout : public KernelTest<T> {};
TYPED_TEST_SUITE(Dropout, Elements);

TYPED_TEST(Dropout, KeepsWhatThePublishedGeneratorKeeps) {
  using T = TypeParam;
  const DropoutKey key{0x123456789abcdef0U, 0xfedcba9876543210U};
  for (const std::int64_t count : {1, 3, 4, 63, 64, 65, 130, 1000}) {
    const auto x = numbers<T>(count, 1);
    std::vector<double> want;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::uint32_t word = philox4x32(key.seed, key.stream, i / 4)[i % 4];
      want.push_back(word >= 0x40000000U ? as_double(x[i]) / 0.75 : 0.0);
    }
    for_each_isa([&] {
      std::vector<T> y(x.size());
      dropout(count, 0.25F, key, x.data(), y.data());
      expect_close(y, want, rounding<T> + 0x1p-23, 1e-30, "y");
      auto in_place = x;
      dropout(count, 0.25F, key, in_place.data(), in_place.data());
      EXPECT_TRUE(same_bits(in_place, y));
    });
  }
}

TYPED_TEST(Dropout, DropsTheShareAskedForAndNothingAtZero) {
  using T = TypeParam;
  const std::vector<T> ones(100000, element<T>(1));
  std::vector<T> y(ones.size());
  dropout<T>(100000, 0.1F, {1, 2}, ones.data(), y.data());
  const auto zeros = std::ranges::count_if(y, [](T v) { return as_double(v) == 0; });
  EXPECT_NEAR(static_cast<double>(zeros), 10000,
              5 * 95);  // five standard deviations; the result never varies
  dropout<T>(100000, 0.0F, {1, 2}, ones.data(), y.data());
  EXPECT_TRUE(same_bits(y, ones));
}

TYPED_TEST(Dropout, AnotherSeedOrStreamIsAnotherMask) {
  using T = TypeParam;
  const std::vector<T> ones(256, element<T>(1));
  std::vector<T> a(256), b(256), c(256);
  dropout<T>(256, 0.5F, {1, 2}, ones.data(), a.data());
  dropout<T>(256, 0.5F, {1, 3}, ones.data(), b.data());
  dropout<T>(256, 0.5F, {2, 2}, ones.data(), c.data());
  EXPECT_FALSE(same_bits(a, b));
  EXPECT_FALSE(same_bits(a, c));
  EXPECT_FALSE(same_bits(b, c));
}

}  // namespace
}  // namespace stepscope::nn
