// SPDX-License-Identifier: Apache-2.0
#include "stepscope/nn/kernels/sgemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/nn/kernels/matmul.h"

namespace stepscope::nn {
namespace {

struct Operands {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;
  std::vector<float> bias;
};

std::vector<float> drawn(std::int64_t count, std::uint32_t state) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(state >> 8U) / 0x1p23F - 1;
  }
  return values;
}

// Rows have a gap of `gap` values between them.
MatmulShape shape(std::int64_t m, std::int64_t n, std::int64_t k, int transposed,
                  std::int64_t gap) {
  const bool a = (transposed & 1) != 0;
  const bool b = (transposed & 2) != 0;
  return {m, n, k, (a ? m : k) + gap, (b ? k : n) + gap, n + gap, a, b};
}

Operands operands(const MatmulShape& s) {
  return {drawn((s.transpose_a ? s.k : s.m) * s.lda, 1),
          drawn((s.transpose_b ? s.n : s.k) * s.ldb, 2), drawn(s.m * s.ldc, 3), drawn(s.n, 4)};
}

// Sizes below, at and beyond the tile, the blocks and their multiples.
// Below avx512 oneDNN computes the product; it must equal the reference too.
TEST(Sgemm, IsTheReferencesProduct) {
  const std::array<std::array<std::int64_t, 3>, 10> sizes = {{{1, 1, 1},
                                                              {8, 48, 16},
                                                              {9, 49, 17},
                                                              {5, 15, 33},
                                                              {14, 80, 300},
                                                              {200, 50, 20},
                                                              {513, 33, 257},
                                                              {20, 50, 1024},  // rows a page apart
                                                              {3, 1100, 9},
                                                              {12, 200, 769}}};
  for (const auto& [m, n, k] : sizes) {
    for (int variant = 0; variant < 16; ++variant) {
      const MatmulShape s = shape(m, n, k, variant % 4, variant % 3);
      const bool add = (variant & 4) != 0;
      Operands o = operands(s);
      const float* bias = (variant & 8) != 0 ? o.bias.data() : nullptr;
      std::vector<float> expected = o.c;
      matmul_reference(s, o.a.data(), o.b.data(), expected.data(), bias, add);
      matmul(s, o.a.data(), o.b.data(), o.c.data(), bias, add);
      // Half a unit for each of k + 2 sums with terms below 1, and for the result.
      const double bound = static_cast<double>(k + 4) * 0x1p-23;
      for (std::size_t i = 0; i < expected.size(); ++i) {  // the gaps between rows are untouched
        ASSERT_NEAR(static_cast<double>(o.c[i]), static_cast<double>(expected[i]), bound)
            << m << "x" << n << "x" << k << " variant " << variant << " at " << i;
      }
    }
  }
}

TEST(Sgemm, GivesARowTheSameBitsWhateverIsBesideIt) {
  const MatmulShape whole = shape(50, 70, 800, 2, 0);
  Operands o = operands(whole);
  if (!sgemm_runs_here()) {  // sgemm is then not used; oneDNN has its own order of summation
    EXPECT_FALSE(matmul_implementation<float>(whole).starts_with("sgemm"));
    return;
  }
  EXPECT_TRUE(matmul_implementation<float>(whole).starts_with("sgemm"));
  sgemm(whole, o.a.data(), o.b.data(), o.c.data(), nullptr, false);
  for (const std::int64_t row : {0, 7, 8, 49}) {
    MatmulShape one = whole;
    one.m = 1;
    std::vector<float> c(static_cast<std::size_t>(whole.n));
    sgemm(one, o.a.data() + row * whole.lda, o.b.data(), c.data(), nullptr, false);
    EXPECT_TRUE(std::equal(c.begin(), c.end(), o.c.begin() + row * whole.ldc)) << row;
  }
}

}  // namespace
}  // namespace stepscope::nn
