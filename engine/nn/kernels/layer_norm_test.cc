// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/layer_norm.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class LayerNorm : public KernelTest<T> {};
TYPED_TEST_SUITE(LayerNorm, Elements);

constexpr double eps = 1e-5;

std::vector<double> norm(std::int64_t rows, std::size_t c, const std::vector<double>& x,
                         const std::vector<double>& weight, const std::vector<double>& bias) {
  std::vector<double> y;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const double* in = x.data() + row * c;
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < c; ++i) mean += in[i] / static_cast<double>(c);
    for (std::size_t i = 0; i < c; ++i) {
      variance += (in[i] - mean) * (in[i] - mean) / static_cast<double>(c);
    }
    for (std::size_t i = 0; i < c; ++i) {
      y.push_back((in[i] - mean) / std::sqrt(variance + eps) * weight[i] + bias[i]);
    }
  }
  return y;
}

// Errors: one rounding of the result, and sums of c elements in 4 or more parallel lanes.
template <class T>
double tolerance(std::int64_t c) {
  return 2 * rounding<T> + static_cast<double>(c + 64) * 0x1p-24;
}

constexpr std::int64_t shapes[][2] = {{1, 2}, {3, 5}, {1, 16}, {4, 31}, {2, 67}, {5, 32}};

TYPED_TEST(LayerNorm, ForwardEqualsTheFormulaWithAndWithoutResidual) {
  using T = TypeParam;
  for (const auto& [rows, c] : shapes) {
    const auto x = numbers<T>(rows * c, 1), residual = numbers<T>(rows * c, 2);
    const auto weight = numbers<T>(c, 3), bias = numbers<T>(c, 4);
    for (const bool with : {false, true}) {
      std::vector<T> sum = x;
      for (std::size_t i = 0; with && i < sum.size(); ++i) {
        sum[i] = element<T>(as_double(x[i]) + as_double(residual[i]));
      }
      const auto want =
          norm(rows, static_cast<std::size_t>(c), doubles(sum), doubles(weight), doubles(bias));
      for_each_isa([&, r = rows, n = c] {
        std::vector<T> y(x.size()), total(x.size());
        std::vector<float> mean(static_cast<std::size_t>(r)), rstd = mean;
        layer_norm_forward(r, n, static_cast<float>(eps), x.data(),
                           with ? residual.data() : nullptr, weight.data(), bias.data(),
                           with ? total.data() : nullptr, y.data(), mean.data(), rstd.data());
        // Two elements may be close together; their normalised values then carry their rounding
        // errors.
        expect_close(y, want, tolerance<T>(n), n < 16 ? 30.0 : 3.0, "y");
        EXPECT_TRUE(!with || same_bits(total, sum));
      });
    }
  }
}

TYPED_TEST(LayerNorm, GradientsEqualCentralDifferences) {
  using T = TypeParam;
  for (const auto& [rows, c] : shapes) {
    const auto width = static_cast<std::size_t>(c);
    const auto x = numbers<T>(rows * c, 1), dy = numbers<T>(rows * c, 2),
               dx0 = numbers<T>(rows * c, 5);
    const auto weight = numbers<T>(c, 3), bias = numbers<T>(c, 4), before = numbers<T>(c, 6);
    const auto seed = doubles(dy), xd = doubles(x), wd = doubles(weight), bd = doubles(bias);
    const auto dx_want = added(
        differences(xd,
                    [&, r = rows](const auto& v) { return dot(norm(r, width, v, wd, bd), seed); }),
        dx0, true);
    const auto dw_want = differences(
        wd, [&, r = rows](const auto& v) { return dot(norm(r, width, xd, v, bd), seed); });
    const auto db_want = differences(
        bd, [&, r = rows](const auto& v) { return dot(norm(r, width, xd, wd, v), seed); });
    for (const bool add : {false, true}) {
      for_each_isa([&, r = rows, n = c] {
        std::vector<T> y(x.size());
        std::vector<float> mean(static_cast<std::size_t>(r)), rstd = mean;
        layer_norm_forward<T>(r, n, static_cast<float>(eps), x.data(), nullptr, weight.data(),
                              bias.data(), nullptr, y.data(), mean.data(), rstd.data());
        auto dx = dx0, dw = before, db = before;
        std::vector<float> scratch(layer_norm_scratch(n));
        layer_norm_backward(r, n, x.data(), weight.data(), mean.data(), rstd.data(), dy.data(),
                            dx.data(), dw.data(), db.data(), add, scratch.data());
        const double unit = n < 16 ? 100.0 : 5.0;
        expect_close(dx, dx_want, tolerance<T>(n), unit, "dx");
        expect_close(dw, added(dw_want, before, add), tolerance<T>(r), unit, "dweight");
        expect_close(db, added(db_want, before, add), tolerance<T>(r), 3.0, "dbias");
      });
    }
  }
}

}  // namespace
}  // namespace stepscope::nn
