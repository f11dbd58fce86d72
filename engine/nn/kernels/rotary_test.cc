// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/rotary.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class Rotary : public KernelTest<T> {};
TYPED_TEST_SUITE(Rotary, Elements);

struct RotaryShape {
  std::int64_t b, t, heads, d, stride;
};

std::vector<double> rotated(const RotaryShape& s, double theta, std::vector<double> x) {
  for (std::int64_t row = 0; row < s.b * s.t; ++row) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t i = 0; i < s.d / 2; ++i) {
        const double power = -2.0 * static_cast<double>(i) / static_cast<double>(s.d);
        const double angle = static_cast<double>(row % s.t) * std::pow(theta, power);
        double& a = x[static_cast<std::size_t>(row * s.stride + h * s.d + i)];
        double& b = x[static_cast<std::size_t>(row * s.stride + h * s.d + s.d / 2 + i)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = turned;
      }
    }
  }
  return x;
}

TYPED_TEST(Rotary, EqualsTheFormulaAndCentralDifferences) {
  using T = TypeParam;
  const double tolerance = rounding<T> + 0x1p-22;  // one rounding, and one of sines and cosines
  const RotaryShape shapes[] = {{1, 1, 1, 2, 2},   {2, 3, 2, 6, 12},   {1, 5, 3, 32, 128},
                                {2, 9, 1, 34, 40}, {1, 300, 1, 8, 24}, {1, 2, 2, 66, 140}};
  for (const RotaryShape& s : shapes) {
    const auto x = numbers<T>(s.b * s.t * s.stride, 1), dy = numbers<T>(s.b * s.t * s.stride, 2);
    const auto want = rotated(s, 10000, doubles(x));
    // Rotation is linear, so the gradient is the transposed map. If x is large, test a few outputs
    // at a time.
    const auto seed = doubles(dy);
    const bool small = x.size() < 500;
    const auto gradient =
        small ? differences(doubles(x),
                            [&](const auto& v) { return dot(rotated(s, 10000, v), seed); })
              : std::vector<double>{};
    for_each_isa([&] {
      auto y = x;
      rotary(s.b, s.t, s.heads, s.d, s.stride, 10000.0F, y.data(), false);
      expect_close(y, want, tolerance, 1.0, "rotated");
      auto d = dy;
      rotary(s.b, s.t, s.heads, s.d, s.stride, 10000.0F, d.data(), true);
      if (small) expect_close(d, gradient, tolerance, 1.0, "gradient");
      rotary(s.b, s.t, s.heads, s.d, s.stride, 10000.0F, y.data(), true);
      expect_close(y, doubles(x), 2 * tolerance, 1.0, "there and back");
    });
  }
}

TYPED_TEST(Rotary, AnotherThetaAndALongerSequenceGiveOtherAngles) {
  using T = TypeParam;
  const auto x = numbers<T>(6 * 4, 1);
  for (const double theta : {10000.0, 500000.0, 10000.0}) {
    for (const std::int64_t t : {3, 6, 2}) {
      const RotaryShape s{1, t, 1, 4, 4};
      const std::vector<T> in(x.begin(), x.begin() + t * 4);
      auto y = in;
      rotary(1, t, 1, 4, 4, static_cast<float>(theta), y.data(), false);
      expect_close(y, rotated(s, theta, doubles(in)), rounding<T> + 0x1p-22, 1.0, "rotated");
    }
  }
}

}  // namespace
}  // namespace stepscope::nn
