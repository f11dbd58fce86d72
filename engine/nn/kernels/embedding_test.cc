// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/embedding.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class Embedding : public KernelTest<T> {};
TYPED_TEST_SUITE(Embedding, Elements);

struct EmbeddingShape {
  std::int64_t b, t, c, vocab, positions;
};
constexpr EmbeddingShape shapes[] = {
    {1, 1, 1, 1, 1}, {2, 3, 5, 4, 3}, {3, 7, 16, 50, 9}, {2, 40, 33, 10, 64}};

std::vector<std::int32_t> tokens_of(const EmbeddingShape& s) {
  std::mt19937 bits(11);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < s.b * s.t; ++i) {
    tokens.push_back(static_cast<std::int32_t>(bits() % static_cast<unsigned>(s.vocab)));
  }
  return tokens;
}

// Row i of a matrix of c columns.
double* row(std::vector<double>& x, std::int64_t i, std::int64_t c) { return x.data() + i * c; }

TYPED_TEST(Embedding, ForwardAddsTwoRows) {
  using T = TypeParam;
  for (const EmbeddingShape& s : shapes) {
    const auto tokens = tokens_of(s);
    const auto wte = numbers<T>(s.vocab * s.c, 1), wpe = numbers<T>(s.positions * s.c, 2);
    for (const bool positions : {false, true}) {
      std::vector<double> want;
      for (std::int64_t i = 0; i < s.b * s.t; ++i) {
        for (std::int64_t j = 0; j < s.c; ++j) {
          const auto token = tokens[static_cast<std::size_t>(i)];
          const double at = as_double(wpe[static_cast<std::size_t>((i % s.t) * s.c + j)]);
          want.push_back(as_double(wte[static_cast<std::size_t>(token * s.c + j)]) +
                         (positions ? at : 0.0));
        }
      }
      for_each_isa([&] {
        std::vector<T> out(want.size());
        embedding_forward(s.b, s.t, s.c, tokens.data(), wte.data(),
                          positions ? wpe.data() : nullptr, out.data());
        expect_close(out, want, rounding<T>, 1e-30, "sum of two");
      });
    }
  }
}

// The transposed map in double; every element of both gradients is compared with it.
TYPED_TEST(Embedding, BackwardSumsWhereATokenStands) {
  using T = TypeParam;
  for (const EmbeddingShape& s : shapes) {
    const auto tokens = tokens_of(s);
    const auto dout = numbers<T>(s.b * s.t * s.c, 1);
    const auto wte0 = numbers<T>(s.vocab * s.c, 2), wpe0 = numbers<T>(s.positions * s.c, 3);
    for (const bool add : {false, true}) {
      auto dwte_want = added(std::vector<double>(wte0.size()), wte0, add);
      auto dwpe_want = added(std::vector<double>(wpe0.size()), wpe0, add);
      for (std::int64_t i = 0; i < s.b * s.t; ++i) {
        for (std::int64_t j = 0; j < s.c; ++j) {
          const double g = as_double(dout[static_cast<std::size_t>(i * s.c + j)]);
          row(dwte_want, tokens[static_cast<std::size_t>(i)], s.c)[j] += g;
          row(dwpe_want, i % s.t, s.c)[j] += g;
        }
      }
      for_each_isa([&] {
        auto dwte = wte0, dwpe = wpe0, alone = wte0;
        embedding_backward(s.b, s.t, s.c, s.vocab, s.positions, tokens.data(), dout.data(),
                           dwte.data(), dwpe.data(), add);
        // Errors: one rounding, and f32 sums of at most b * t numbers.
        const double tolerance = rounding<T> + static_cast<double>(s.b * s.t) * 0x1p-24;
        expect_close(dwte, dwte_want, tolerance, 3.0, "dwte");
        expect_close(dwpe, dwpe_want, tolerance, 3.0, "dwpe");
        embedding_backward<T>(s.b, s.t, s.c, s.vocab, 0, tokens.data(), dout.data(), alone.data(),
                              nullptr, add);
        EXPECT_TRUE(same_bits(alone, dwte));
      });
    }
  }
}

TYPED_TEST(Embedding, RowsThatDoNotOccurKeepTheirBitsWhereAdded) {
  using T = TypeParam;
  const std::vector<std::int32_t> tokens = {2, 2};
  const std::vector<T> dout(2, element<T>(0.5));
  const std::vector<T> nan(4, element<T>(std::numeric_limits<double>::quiet_NaN()));
  auto dwte = nan;
  dwte[2] = element<T>(1);
  embedding_backward<T>(1, 2, 1, 4, 0, tokens.data(), dout.data(), dwte.data(), nullptr, true);
  EXPECT_EQ(as_double(dwte[2]), 2);
  dwte[2] = nan[2];
  EXPECT_TRUE(same_bits(dwte, nan));
  embedding_backward<T>(1, 2, 1, 4, 0, tokens.data(), dout.data(), dwte.data(), nullptr, false);
  EXPECT_EQ(doubles(dwte), (std::vector<double>{0, 0, 1, 0}));
}

TEST(Embedding, ATokenOutsideTheVocabularyIsABug) {
  const std::vector<std::int32_t> tokens = {4};
  const std::vector<float> dout = {1};
  std::vector<float> dwte(4);
  EXPECT_THROW(embedding_backward<float>(1, 1, 1, 4, 0, tokens.data(), dout.data(), dwte.data(),
                                         nullptr, false),
               Bug);
}

}  // namespace
}  // namespace stepscope::nn
