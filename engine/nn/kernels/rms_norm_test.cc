// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/rms_norm.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class RmsNorm : public KernelTest<T> {};
TYPED_TEST_SUITE(RmsNorm, Elements);

constexpr double eps = 1e-6;

std::vector<double> norm(std::size_t c, const std::vector<double>& x,
                         const std::vector<double>& weight) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += c) {
    double squares = 0;
    for (std::size_t i = 0; i < c; ++i) squares += x[row + i] * x[row + i];
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(c) + eps);
    for (std::size_t i = 0; i < c; ++i) y.push_back(x[row + i] * rstd * weight[i]);
  }
  return y;
}

TYPED_TEST(RmsNorm, EqualsTheFormulaAndCentralDifferences) {
  using T = TypeParam;
  const std::int64_t shapes[][2] = {{1, 1}, {3, 5}, {1, 16}, {4, 31}, {2, 67}, {5, 32}};
  for (const auto& [rows, c] : shapes) {
    // Errors: one rounding of the result, and sums of c elements.
    const double tolerance = 2 * rounding<T> + static_cast<double>(c + 64) * 0x1p-24;
    const auto width = static_cast<std::size_t>(c);
    const auto x = numbers<T>(rows * c, 1), residual = numbers<T>(rows * c, 2);
    const auto weight = numbers<T>(c, 3), dy = numbers<T>(rows * c, 4), before = numbers<T>(c, 5);
    const auto dx0 = numbers<T>(rows * c, 6);
    std::vector<T> sum;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum.push_back(element<T>(as_double(x[i]) + as_double(residual[i])));
    }
    const auto xd = doubles(sum), wd = doubles(weight), seed = doubles(dy);
    const auto want = norm(width, xd, wd);
    const auto dx_want = added(
        differences(xd, [&](const auto& v) { return dot(norm(width, v, wd), seed); }), dx0, true);
    const auto dw_want =
        differences(wd, [&](const auto& v) { return dot(norm(width, xd, v), seed); });
    for (const bool add : {false, true}) {
      for_each_isa([&, r = rows, n = c] {
        std::vector<T> y(x.size()), total(x.size()), plain(x.size());
        std::vector<float> rstd(static_cast<std::size_t>(r)), scratch(rms_norm_scratch(n));
        const auto epsilon = static_cast<float>(eps);
        rms_norm_forward(r, n, epsilon, x.data(), residual.data(), weight.data(), total.data(),
                         y.data(), rstd.data());
        expect_close(y, want, tolerance, 1.0, "y");
        EXPECT_TRUE(same_bits(total, sum));
        rms_norm_forward<T>(r, n, epsilon, total.data(), nullptr, weight.data(), total.data(),
                            plain.data(), rstd.data());
        EXPECT_TRUE(same_bits(plain, y));
        auto dx = dx0, dw = before;
        rms_norm_backward(r, n, total.data(), weight.data(), rstd.data(), dy.data(), dx.data(),
                          dw.data(), add, scratch.data());
        expect_close(dx, dx_want, tolerance, 5.0, "dx");
        expect_close(dw, added(dw_want, before, add), tolerance, 5.0, "dweight");
      });
    }
  }
}

}  // namespace
}  // namespace stepscope::nn
