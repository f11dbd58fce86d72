// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/sgemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/nn/kernels/kernel_test_data.h"
#include "engine/nn/kernels/matmul.h"

namespace stepscope::nn {
namespace {

template <class T>
class Sgemm : public KernelTest<T> {};
TYPED_TEST_SUITE(Sgemm, Elements);

template <class T>
struct Operands {
  std::vector<T> a;
  std::vector<T> b;
  std::vector<T> c;
  std::vector<T> bias;
};

// Values below 1.
template <class T>
std::vector<T> drawn(std::int64_t count, std::uint32_t state) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back(element<T>(static_cast<double>(state >> 8U) / 0x1p23 - 1));
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

template <class T>
Operands<T> operands(const MatmulShape& s) {
  return {drawn<T>((s.transpose_a ? s.k : s.m) * s.lda, 1),
          drawn<T>((s.transpose_b ? s.n : s.k) * s.ldb, 2), drawn<T>(s.m * s.ldc, 3),
          drawn<T>(s.n, 4)};
}

std::vector<float> floats(const std::vector<Bf16>& x) {
  std::vector<float> out;
  for (const Bf16 value : x) out.push_back(to_float(value));
  return out;
}

// Sizes below, at and beyond the tiles, the blocks and their multiples.
constexpr std::array<std::array<std::int64_t, 3>, 13> sizes = {
    {{1, 1, 1},
     {6, 16, 8},
     {7, 17, 9},
     {8, 48, 16},
     {9, 49, 17},
     {5, 15, 33},
     {14, 80, 300},
     {200, 50, 20},
     {513, 33, 257},
     {343, 20, 31},
     {20, 50, 1024},  // rows a page apart
     {3, 1100, 9},
     {12, 200, 769}}};

// Where oneDNN computes the product, it must equal the reference too.
TYPED_TEST(Sgemm, IsTheReferencesProduct) {
  using T = TypeParam;
  for (const auto& [m, n, k] : sizes) {
    for (int variant = 0; variant < 16; ++variant) {
      const MatmulShape s = shape(m, n, k, variant % 4, variant % 3);
      const bool add = (variant & 4) != 0;
      const Operands<T> o = operands<T>(s);
      const T* bias = (variant & 8) != 0 ? o.bias.data() : nullptr;
      std::vector<T> expected = o.c;
      matmul_reference(s, o.a.data(), o.b.data(), expected.data(), bias, add);
      // Half a unit for each of k + 2 sums with terms below 1, and for the result.
      const double sums = static_cast<double>(k + 4) * 0x1p-23;
      for_each_isa([&] {
        std::vector<T> c = o.c;
        matmul(s, o.a.data(), o.b.data(), c.data(), bias, add);
        for (std::size_t i = 0; i < expected.size(); ++i) {  // the gaps between rows are untouched
          const double want = as_double(expected[i]);
          ASSERT_NEAR(as_double(c[i]), want, sums + 2 * rounding<T> * std::abs(want))
              << m << "x" << n << "x" << k << " variant " << variant << " at " << i;
        }
      });
    }
  }
}

TYPED_TEST(Sgemm, GivesARowTheSameBitsWhateverIsBesideIt) {
  using T = TypeParam;
  for_each_isa([] {
    EXPECT_EQ(matmul_implementation<float>({8, 8, 8, 8, 8, 8}),
              "sgemm:" + std::string(isa_name(isa())));
  });
  for_each_isa([] {
    for (int transposed = 0; transposed < 4; ++transposed) {
      const MatmulShape whole = shape(550, 70, 800, transposed, 0);
      const Operands<T> o = operands<T>(whole);
      std::vector<T> all = o.c;
      const T* bias = o.bias.data();
      sgemm(whole, o.a.data(), o.b.data(), all.data(), bias, true);
      for (const std::int64_t row : {0, 5, 6, 7, 8, 49, 549}) {
        MatmulShape one = whole;
        one.m = 1;
        const T* a = o.a.data() + row * (whole.transpose_a ? 1 : whole.lda);
        std::vector<T> c(o.c.begin() + row * whole.ldc, o.c.begin() + (row + 1) * whole.ldc);
        sgemm(one, a, o.b.data(), c.data(), bias, true);
        const auto from = all.begin() + row * whole.ldc;
        EXPECT_TRUE(same_bits(c, std::vector<T>(from, from + whole.n))) << row;
      }
    }
  });
}

// Every instruction set adds the same terms in the same order.
// Baseline has no fused multiply-add: it rounds a product of f32. A product of bf16 needs no
// rounding.
TYPED_TEST(Sgemm, GivesTheSameBitsWithEveryInstructionSet) {
  using T = TypeParam;
  for (const auto& [m, n, k] : sizes) {
    for (int variant = 0; variant < 16; ++variant) {
      const MatmulShape s = shape(m, n, k, variant % 4, variant % 3);
      const Operands<T> o = operands<T>(s);
      std::vector<T> first;
      for_each_isa([&] {
        if (std::is_same_v<T, float> && isa() == Isa::baseline) return;
        std::vector<T> c = o.c;
        sgemm(s, o.a.data(), o.b.data(), c.data(), (variant & 8) != 0 ? o.bias.data() : nullptr,
              (variant & 4) != 0);
        if (first.empty()) first = c;
        EXPECT_TRUE(same_bits(first, c)) << m << "x" << n << "x" << k << " variant " << variant;
      });
    }
  }
}

// A product of bf16 operands is the f32 product of the same numbers, rounded once.
TEST(SgemmOfBf16, RoundsItsResultOnce) {
  for (const auto& [m, n, k] : sizes) {
    for (int variant = 0; variant < 16; ++variant) {
      const MatmulShape s = shape(m, n, k, variant % 4, variant % 3);
      const bool add = (variant & 4) != 0;
      const Operands<Bf16> o = operands<Bf16>(s);
      const std::vector<float> wide_bias = floats(o.bias);
      const bool biased = (variant & 8) != 0;
      for_each_isa([&] {
        std::vector<float> wide = floats(o.c);
        sgemm(s, floats(o.a).data(), floats(o.b).data(), wide.data(),
              biased ? wide_bias.data() : nullptr, add);
        std::vector<float> to_float = floats(o.c);
        sgemm(s, o.a.data(), o.b.data(), to_float.data(), biased ? wide_bias.data() : nullptr, add);
        EXPECT_TRUE(same_bits(wide, to_float)) << m << "x" << n << "x" << k << " " << variant;
        std::vector<Bf16> narrow = o.c;
        sgemm(s, o.a.data(), o.b.data(), narrow.data(), biased ? o.bias.data() : nullptr, add);
        std::vector<Bf16> rounded;
        for (const float x : wide) rounded.push_back(to_bf16(x));
        EXPECT_TRUE(same_bits(narrow, rounded)) << m << "x" << n << "x" << k << " " << variant;
      });
    }
  }
  use_isa(available_isas().back());
}

}  // namespace
}  // namespace stepscope::nn
