// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/swiglu.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class Swiglu : public KernelTest<T> {};
TYPED_TEST_SUITE(Swiglu, Elements);

std::vector<double> swiglu(std::int64_t rows, std::int64_t hidden, const std::vector<double>& in) {
  std::vector<double> y;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double gate = in[static_cast<std::size_t>(r * 2 * hidden + i)];
      const double up = in[static_cast<std::size_t>(r * 2 * hidden + hidden + i)];
      y.push_back(gate / (1 + std::exp(-gate)) * up);
    }
  }
  return y;
}

TYPED_TEST(Swiglu, EqualsTheFormulaAndCentralDifferences) {
  using T = TypeParam;
  // Errors: one rounding of the result; about 2^-22 from e^x and the operations around it.
  const double tolerance = rounding<T> + 0x1p-20;
  const std::int64_t shapes[][2] = {{1, 1}, {3, 7}, {2, 16}, {4, 19}, {1, 40}};
  for (const auto& [rows, hidden] : shapes) {
    const auto in = numbers<T>(rows * 2 * hidden, 1, 2.0), dy = numbers<T>(rows * hidden, 2);
    const auto seed = doubles(dy);
    const auto want = swiglu(rows, hidden, doubles(in));
    const auto gradient = differences(doubles(in), [&, r = rows, h = hidden](const auto& x) {
      return dot(swiglu(r, h, x), seed);
    });
    for_each_isa([&, r = rows, h = hidden] {
      std::vector<T> y(want.size()), d(in.size());
      swiglu_forward(r, h, in.data(), y.data());
      expect_close(y, want, tolerance, 1e-3, "y");
      swiglu_backward(r, h, in.data(), dy.data(), d.data());
      expect_close(d, gradient, tolerance, 1e-2, "gradient");
      auto in_place = in;
      swiglu_backward(r, h, in_place.data(), dy.data(), in_place.data());
      EXPECT_TRUE(same_bits(in_place, d));
    });
  }
}

}  // namespace
}  // namespace stepscope::nn
