// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/matmul.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class Matmul : public KernelTest<T> {};
TYPED_TEST_SUITE(Matmul, Elements);

// The error of f32 sums of k products of standard normal numbers is at most about k 2^-24 sqrt(k).
// The double reference rounds its result once, as the kernel does.
template <class T>
double tolerance(std::int64_t k) {
  return 2 * rounding<T> + static_cast<double>(k) * 0x1p-24;
}

template <class T>
void expect_product(const MatmulShape& s, bool bias, bool add) {
  const auto a = numbers<T>((s.transpose_a ? s.k : s.m) * s.lda, 1);
  const auto b = numbers<T>((s.transpose_b ? s.n : s.k) * s.ldb, 2);
  const auto bias_row = numbers<T>(s.n, 3);
  const auto before = numbers<T>(s.m * s.ldc, 4);
  auto want = before;
  const T* row = bias ? bias_row.data() : nullptr;
  matmul_reference(s, a.data(), b.data(), want.data(), row, add);
  const std::string what = std::to_string(s.m) + " x " + std::to_string(s.n) + " x " +
                           std::to_string(s.k) + (s.transpose_a ? " A^T" : "") +
                           (s.transpose_b ? " B^T" : "") + (bias ? " bias" : "") +
                           (add ? " add" : "");
  for_each_isa([&] {
    auto c = before;
    matmul(s, a.data(), b.data(), c.data(), row, add);
    expect_close(c, doubles(want), tolerance<T>(s.k), std::sqrt(static_cast<double>(s.k)), what);
  });
}

TYPED_TEST(Matmul, EqualsTheReferenceInEveryLayout) {
  const std::int64_t sizes[][3] = {{1, 1, 1},   {1, 7, 3},    {5, 1, 17},    {3, 3, 1},
                                   {17, 33, 9}, {64, 48, 80}, {31, 130, 67}, {128, 96, 256}};
  for (const auto& [m, n, k] : sizes) {
    for (int variant = 0; variant < 16; ++variant) {
      MatmulShape s{m, n, k, 0, 0, 0, (variant & 1) != 0, (variant & 2) != 0};
      const std::int64_t beyond = (variant & 4) != 0 ? 5 : 0;  // of each stored row
      s.lda = (s.transpose_a ? m : k) + beyond;
      s.ldb = (s.transpose_b ? k : n) + beyond;
      s.ldc = n + beyond;
      expect_product<TypeParam>(s, (variant & 8) != 0, (variant & 5) != 0);
    }
  }
}

// With STEPSCOPE_ISA=avx2 or baseline oneDNN has no bf16: the operands are widened.
TYPED_TEST(Matmul, EqualsTheReferenceByOneDnn) {
  if (!has_onednn()) GTEST_SKIP() << "this build has no oneDNN";
  use_onednn_for_f32(true);
  use_onednn_for_bf16(true);
  EXPECT_EQ(matmul_implementation<TypeParam>({8, 8, 8, 8, 8, 8}).find("sgemm"),
            std::string_view::npos);
  for (int variant = 0; variant < 4; ++variant) {
    const bool a = (variant & 1) != 0, b = (variant & 2) != 0;
    expect_product<TypeParam>({37, 50, 29, a ? 37 : 29, b ? 29 : 50, 50, a, b}, a, b);
  }
  use_onednn_for_f32(false);
  use_onednn_for_bf16(false);
}

TYPED_TEST(Matmul, RandomShapes) {
  std::mt19937 bits(7);
  for (int round = 0; round < 30; ++round) {
    const auto size = [&] { return static_cast<std::int64_t>(1 + bits() % 90); };
    MatmulShape s{size(), size(), size(), 0, 0, 0, bits() % 2 == 0, bits() % 2 == 0};
    s.lda = (s.transpose_a ? s.m : s.k) + static_cast<std::int64_t>(bits() % 3);
    s.ldb = (s.transpose_b ? s.k : s.n) + static_cast<std::int64_t>(bits() % 3);
    s.ldc = s.n + static_cast<std::int64_t>(bits() % 3);
    expect_product<TypeParam>(s, bits() % 2 == 0, bits() % 2 == 0);
  }
}

TYPED_TEST(Matmul, LeavesWhatLiesBetweenRows) {
  using T = TypeParam;
  const MatmulShape s{4, 5, 6, 6, 5, 9, false, false};
  const auto a = numbers<T>(24, 1);
  const auto b = numbers<T>(30, 2);
  const auto before = numbers<T>(36, 3);
  auto c = before;
  matmul(s, a.data(), b.data(), c.data());
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (i % 9 < 5) continue;
    EXPECT_EQ(as_double(c[i]), as_double(before[i])) << i;
  }
}

TYPED_TEST(Matmul, RoundsAnF32ResultNowhere) {
  using T = TypeParam;
  const MatmulShape s{9, 33, 40, 40, 40, 33, false, true};
  const auto a = numbers<T>(9 * 40, 1);
  const auto b = numbers<T>(33 * 40, 2);
  const auto bd = doubles(b);
  std::vector<float> af, bf, want(9 * 33), got(9 * 33);
  for (const T x : a) af.push_back(static_cast<float>(as_double(x)));
  for (const T x : b) bf.push_back(static_cast<float>(as_double(x)));
  matmul_to_float(s, a.data(), b.data(), got.data());
  matmul_reference(s, af.data(), bf.data(), want.data());
  expect_close(got, doubles(want), tolerance<float>(40), std::sqrt(40.0), "to float");
}

TYPED_TEST(Matmul, AThirdOfALinearLayerEach) {
  using T = TypeParam;
  const std::int64_t m = 37, n = 50, k = 29;
  const auto x = numbers<T>(m * k, 1), w = numbers<T>(n * k, 2), bias = numbers<T>(n, 3);
  const auto dy = numbers<T>(m * n, 4);
  std::vector<T> y(static_cast<std::size_t>(m * n)), want = y;
  linear_forward(m, n, k, x.data(), w.data(), bias.data(), y.data());
  matmul_reference<T>({m, n, k, k, k, n, false, true}, x.data(), w.data(), want.data(),
                      bias.data());
  expect_close(y, doubles(want), tolerance<T>(k), std::sqrt(29.0), "y");
  for (const bool add : {false, true}) {
    auto dx = numbers<T>(m * k, 5), want_dx = dx;
    linear_backward_input(m, n, k, dy.data(), w.data(), dx.data(), add);
    matmul_reference<T>({m, k, n, n, k, k, false, false}, dy.data(), w.data(), want_dx.data(),
                        nullptr, add);
    expect_close(dx, doubles(want_dx), tolerance<T>(n), std::sqrt(50.0), "dx");
    for_each_isa([&] {
      auto dw = numbers<T>(n * k, 6), want_dw = dw, dbias = numbers<T>(n, 7);
      auto want_dbias = doubles(dbias);
      linear_backward_weight(m, n, k, x.data(), dy.data(), dw.data(), dbias.data(), add);
      matmul_reference<T>({n, k, m, n, k, k, true, false}, dy.data(), x.data(), want_dw.data(),
                          nullptr, add);
      expect_close(dw, doubles(want_dw), tolerance<T>(m), std::sqrt(37.0), "dw");
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = add ? want_dbias[static_cast<std::size_t>(j)] : 0.0;
        for (std::int64_t i = 0; i < m; ++i)
          sum += as_double(dy[static_cast<std::size_t>(i * n + j)]);
        want_dbias[static_cast<std::size_t>(j)] = sum;
      }
      expect_close(dbias, want_dbias, tolerance<T>(m), std::sqrt(37.0), "dbias");
    });
  }
}

TYPED_TEST(Matmul, TheSameBitsAgainAndOnAnotherThread) {
  using T = TypeParam;
  const MatmulShape s{100, 70, 60, 60, 60, 70, false, true};
  const auto a = numbers<T>(6000, 1), b = numbers<T>(4200, 2);
  std::vector<T> first(7000), again(7000), elsewhere(7000);
  matmul(s, a.data(), b.data(), first.data());
  matmul(s, a.data(), b.data(), again.data());
  std::thread([&] { matmul(s, a.data(), b.data(), elsewhere.data()); }).join();
  EXPECT_TRUE(same_bits(first, again));
  EXPECT_TRUE(same_bits(first, elsewhere));
}

}  // namespace
}  // namespace stepscope::nn
