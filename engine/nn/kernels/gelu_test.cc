// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/gelu.h"

#include <gtest/gtest.h>

#include <numbers>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class Gelu : public KernelTest<T> {};
TYPED_TEST_SUITE(Gelu, Elements);

double gelu(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}

// Errors: one rounding of the result; about 2^-22 from e^x and the few operations around it.
template <class T>
constexpr double tolerance = rounding<T> + 0x1p-21;

TYPED_TEST(Gelu, EqualsTheFormulaForEveryLength) {
  using T = TypeParam;
  for (const std::int64_t count : {1, 2, 7, 8, 15, 16, 17, 33, 1000}) {
    const auto x = numbers<T>(count, 1, 2.0);
    std::vector<double> want;
    for (const T v : x) want.push_back(gelu(as_double(v)));
    for_each_isa([&] {
      std::vector<T> y(x.size());
      gelu_forward(count, x.data(), y.data());
      expect_close(y, want, tolerance<T>, 1e-3, "gelu of " + std::to_string(count));
      auto in_place = x;
      gelu_forward(count, in_place.data(), in_place.data());
      EXPECT_TRUE(same_bits(in_place, y));
    });
  }
}

TYPED_TEST(Gelu, GradientEqualsCentralDifferences) {
  using T = TypeParam;
  for (const std::int64_t count : {1, 5, 16, 19, 300}) {
    const auto x = numbers<T>(count, 1, 2.0), dy = numbers<T>(count, 2);
    const auto seed = doubles(dy);
    std::vector<double> want;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto slope = differences({as_double(x[i])}, [](const auto& v) { return gelu(v[0]); });
      want.push_back(seed[i] * slope[0]);
    }
    for_each_isa([&] {
      std::vector<T> dx(x.size());
      gelu_backward(count, x.data(), dy.data(), dx.data());
      // Near its zero, at x = -0.75, the gradient is the difference of two terms near 0.2.
      expect_close(dx, want, tolerance<T>, 0.2, "gradient of " + std::to_string(count));
      auto in_place = dy;
      gelu_backward(count, x.data(), in_place.data(), in_place.data());
      EXPECT_TRUE(same_bits(in_place, dx));
    });
  }
}

TYPED_TEST(Gelu, FarFromZeroItIsTheIdentityOrZero) {
  using T = TypeParam;
  const std::vector<T> x = {element<T>(30),  element<T>(-30),
                            element<T>(1e4), element<T>(-1e4),
                            element<T>(0),   element<T>(std::numeric_limits<double>::quiet_NaN())};
  for_each_isa([&] {
    std::vector<T> y(x.size()), dx(x.size());
    const std::vector<T> ones(x.size(), element<T>(1));
    gelu_forward(6, x.data(), y.data());
    gelu_backward(6, x.data(), ones.data(), dx.data());
    EXPECT_EQ(as_double(y[0]), 30);
    EXPECT_NEAR(as_double(y[1]), 0, 1e-30);
    EXPECT_EQ(as_double(y[2]), as_double(x[2]));
    EXPECT_NEAR(as_double(y[3]), 0, 1e-30);
    EXPECT_EQ(as_double(y[4]), 0);
    EXPECT_TRUE(std::isnan(as_double(y[5])));
    EXPECT_EQ(as_double(dx[0]), 1);
    EXPECT_NEAR(as_double(dx[1]), 0, 1e-30);
    EXPECT_EQ(as_double(dx[4]), 0.5);
    EXPECT_TRUE(std::isnan(as_double(dx[5])));
  });
}

}  // namespace
}  // namespace stepscope::nn
