// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/amx_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "engine/nn/kernels/kernel_test_data.h"
#include "engine/nn/kernels/matmul.h"

namespace stepscope::nn {
namespace {

constexpr const char* no_amx = "this CPU has no AMX for bf16, or STEPSCOPE_ISA is set";

// Below, at and beyond the tile, the panel, a slice, a chunk and both groups (flipped or not).
constexpr std::array<std::array<std::int64_t, 3>, 15> product_sizes = {{{1, 1, 1},
                                                                        {5, 1, 17},
                                                                        {17, 33, 9},
                                                                        {16, 16, 32},
                                                                        {31, 130, 67},
                                                                        {64, 48, 80},
                                                                        {1, 40, 300},
                                                                        {16, 40, 520},
                                                                        {100, 16, 513},
                                                                        {48, 96, 256},
                                                                        {256, 65, 96},
                                                                        {33, 31, 1700},
                                                                        {40, 70, 5000},
                                                                        {780, 260, 520},
                                                                        {260, 780, 520}}};

// Bit 0: a is transposed; bit 1: b is transposed. Rows have a gap of `gap` values.
MatmulShape product_shape(const std::array<std::int64_t, 3>& size, int transposed,
                          std::int64_t gap) {
  const auto [m, n, k] = size;
  const bool a = (transposed & 1) != 0, b = (transposed & 2) != 0;
  return {m, n, k, (a ? m : k) + gap, (b ? k : n) + gap, n + gap, a, b};
}

// f32 sums of k products of standard normal numbers err by at most about k 2^-24 sqrt(k), and a
// result rounded to bf16 by half a unit more; the reference is rounded, too.
template <class Out>
double product_tolerance(std::int64_t k) {
  return 2 * rounding<Out> + static_cast<double>(k) * 0x1p-24;
}

TEST(AmxGemm, IsTheReferencesProductInBf16) {
  if (!amx_gemm_runs_here()) GTEST_SKIP() << no_amx;
  for (const auto& size : product_sizes) {
    for (int variant = 0; variant < 16; ++variant) {
      const MatmulShape s = product_shape(size, variant % 4, variant % 3);
      const auto a = numbers<Bf16>((s.transpose_a ? s.k : s.m) * s.lda, 1);
      const auto b = numbers<Bf16>((s.transpose_b ? s.n : s.k) * s.ldb, 2);
      const auto bias_row = numbers<Bf16>(s.n, 3);
      const Bf16* bias = (variant & 8) != 0 ? bias_row.data() : nullptr;
      auto got = numbers<Bf16>(s.m * s.ldc, 4);  // the gaps between rows must stay as they are
      auto want = got;
      amx_gemm(s, a.data(), b.data(), got.data(), bias, (variant & 4) != 0);
      matmul_reference(s, a.data(), b.data(), want.data(), bias, (variant & 4) != 0);
      expect_close(got, doubles(want), product_tolerance<Bf16>(s.k),
                   std::sqrt(static_cast<double>(s.k)),
                   std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
                       " variant " + std::to_string(variant));
    }
  }
}

TEST(AmxGemm, KeepsAnF32ResultUnrounded) {
  if (!amx_gemm_runs_here()) GTEST_SKIP() << no_amx;
  for (const auto& size : product_sizes) {
    for (int variant = 0; variant < 8; ++variant) {
      const MatmulShape s = product_shape(size, variant % 4, variant % 3);
      const auto a = numbers<Bf16>((s.transpose_a ? s.k : s.m) * s.lda, 1);
      const auto b = numbers<Bf16>((s.transpose_b ? s.n : s.k) * s.ldb, 2);
      std::vector<float> wide_a, wide_b;
      for (const Bf16 x : a) wide_a.push_back(to_float(x));
      for (const Bf16 x : b) wide_b.push_back(to_float(x));
      auto got = numbers<float>(s.m * s.ldc, 4);
      auto want = got;
      amx_gemm<float>(s, a.data(), b.data(), got.data(), nullptr, (variant & 4) != 0);
      matmul_reference<float>(s, wide_a.data(), wide_b.data(), want.data(), nullptr,
                              (variant & 4) != 0);
      expect_close(got, doubles(want), product_tolerance<float>(s.k),
                   std::sqrt(static_cast<double>(s.k)),
                   std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) +
                       " variant " + std::to_string(variant));
    }
  }
}

TEST(AmxGemm, GivesARowTheSameBitsWhateverIsBesideIt) {
  if (!amx_gemm_runs_here()) GTEST_SKIP() << no_amx;
  for (int transposed = 0; transposed < 4; ++transposed) {
    const MatmulShape whole = product_shape({70, 90, 3300}, transposed, 0);
    const auto a = numbers<Bf16>(70 * 3300, 1);
    const auto b = numbers<Bf16>(90 * 3300, 2);
    std::vector<float> all(70 * 90), one(90);
    amx_gemm<float>(whole, a.data(), b.data(), all.data(), nullptr, false);
    MatmulShape row = whole;
    row.m = 1;
    for (const std::int64_t i : {0, 31, 32, 69}) {
      const Bf16* from = a.data() + (whole.transpose_a ? i : i * whole.lda);
      amx_gemm<float>(row, from, b.data(), one.data(), nullptr, false);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + i * 90)) << i;
    }
  }
}

TEST(AmxGemm, IsWhatBf16ProductsUse) {
  const MatmulShape s = product_shape({8, 8, 8}, 0, 0);
  EXPECT_EQ(matmul_implementation<Bf16>(s) == "amx_gemm", amx_gemm_runs_here());
  use_onednn_for_bf16(true);
  EXPECT_NE(matmul_implementation<Bf16>(s), "amx_gemm");
  use_onednn_for_bf16(false);
}

}  // namespace
}  // namespace stepscope::nn
