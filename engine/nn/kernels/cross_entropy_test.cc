// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/cross_entropy.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class CrossEntropy : public KernelTest<T> {};
TYPED_TEST_SUITE(CrossEntropy, Elements);

struct Head {
  HeadShape shape;
  std::vector<std::int32_t> targets;
};

Head head_of(const HeadShape& shape) {
  Head head{shape, {}};
  std::mt19937 bits(5);
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    const auto target = static_cast<std::int32_t>(bits() % static_cast<unsigned>(shape.vocab));
    head.targets.push_back(bits() % 5 == 0 ? -1 : target);
  }
  head.targets[0] = static_cast<std::int32_t>(shape.vocab - 1);
  return head;
}

double loss_of(const Head& h, const std::vector<double>& x, const std::vector<double>& w) {
  const auto c = static_cast<std::size_t>(h.shape.c);
  double loss = 0;
  for (std::size_t row = 0; row < h.targets.size(); ++row) {
    if (h.targets[row] < 0) continue;
    double sum = 0, chosen = 0;
    for (std::size_t v = 0; v < static_cast<std::size_t>(h.shape.vocab); ++v) {
      double logit = 0;
      for (std::size_t i = 0; i < c; ++i) logit += x[row * c + i] * w[v * c + i];
      sum += std::exp(logit);
      if (static_cast<std::size_t>(h.targets[row]) == v) chosen = logit;
    }
    loss += std::log(sum) - chosen;
  }
  return loss;
}

// The product of dlogits, rounded to T, that gives dx (over vocab) or dw (over rows): f32 sums.
template <class T>
constexpr double tolerance = 2 * rounding<T> + 0x1p-18;

TYPED_TEST(CrossEntropy, LossAndGradientsEqualCentralDifferences) {
  using T = TypeParam;
  const HeadShape shapes[] = {{1, 2, 2, 1},   {3, 5, 16, 4},   {7, 17, 17, 3},
                              {5, 64, 64, 8}, {4, 67, 80, 16}, {2, 130, 144, 5}};
  for (const HeadShape& s : shapes) {
    const Head head = head_of(s);
    const auto x = numbers<T>(s.rows * s.c, 1), w = numbers<T>(s.padded_vocab * s.c, 2);
    const auto xd = doubles(x), wd = doubles(w);
    const double want = loss_of(head, xd, wd);
    const auto dx_want = differences(xd, [&](const auto& v) { return loss_of(head, v, wd); });
    const auto dw_want = differences(wd, [&](const auto& v) { return loss_of(head, xd, v); });
    for (const bool add : {false, true}) {
      for_each_isa([&] {
        std::vector<float> scratch(head_scratch(s));
        std::vector<T> dx(x.size(), element<T>(9));
        const auto before = numbers<T>(s.padded_vocab * s.c, 3);
        auto dw = before;
        const double loss = head_cross_entropy(s, x.data(), w.data(), head.targets.data(),
                                               dx.data(), dw.data(), add, scratch.data());
        EXPECT_NEAR(loss, want, 1e-5 * (1 + want));
        expect_close(dx, dx_want, tolerance<T>, 2.0, "dx");
        expect_close(dw, added(dw_want, before, add), tolerance<T>, 2.0, "dw");
        const double alone = head_cross_entropy<T>(s, x.data(), w.data(), head.targets.data(),
                                                   nullptr, nullptr, false, scratch.data());
        EXPECT_EQ(alone, loss);
      });
    }
  }
}

TYPED_TEST(CrossEntropy, ChunksGiveWhatTheWholeGives) {
  using T = TypeParam;
  // 40 rows of 1.5 million logits: three chunks.
  HeadShape s{40, 1'500'000, 1'500'000, 1};
  ASSERT_EQ(head_chunk_rows(s), 14);
  // The same rows with a small vocabulary, which needs one chunk; the other tokens have no weight.
  const HeadShape small{40, 6, 6, 1};
  ASSERT_EQ(head_chunk_rows(small), 40);
  EXPECT_LE(head_scratch(s) * sizeof(float), 16U * 1'500'000 * sizeof(float));
  std::vector<std::int32_t> targets;
  for (std::int32_t i = 0; i < 40; ++i) targets.push_back(i % 7 == 3 ? -1 : i % 6);
  const auto x = numbers<T>(40, 1);
  auto w = std::vector<T>(1'500'000, element<T>(0));
  const auto few = numbers<T>(6, 2);
  std::copy(few.begin(), few.end(), w.begin());
  std::vector<float> scratch(head_scratch(s));
  std::vector<T> dx(40), dw(w.size());
  const double loss = head_cross_entropy(s, x.data(), w.data(), targets.data(), dx.data(),
                                         dw.data(), false, scratch.data());
  double want = 0;
  std::vector<double> dx_want, dw_want(6);
  for (std::size_t row = 0; row < 40; ++row) {
    dx_want.push_back(0);
    if (targets[row] < 0) continue;
    double sum = 1'499'994.0;
    for (const T v : few) sum += std::exp(as_double(x[row]) * as_double(v));
    want +=
        std::log(sum) - as_double(x[row]) * as_double(few[static_cast<std::size_t>(targets[row])]);
    for (std::size_t v = 0; v < 6; ++v) {
      const double p = std::exp(as_double(x[row]) * as_double(few[v])) / sum;
      const double g = p - (static_cast<std::size_t>(targets[row]) == v ? 1.0 : 0.0);
      dx_want.back() += g * as_double(few[v]);
      dw_want[v] += g * as_double(x[row]);
    }
  }
  EXPECT_NEAR(loss, want, 1e-5 * want);
  expect_close(dx, dx_want, tolerance<T>, 1.0, "dx");
  // Bf16: dw is rounded once per chunk.
  expect_close(std::vector<T>(dw.begin(), dw.begin() + 6), dw_want, 3 * tolerance<T>, 2.0, "dw");
}

TYPED_TEST(CrossEntropy, PaddedColumnsNeverGetProbability) {
  using T = TypeParam;
  const HeadShape s{2, 3, 16, 2};
  const auto x = numbers<T>(4, 1);
  auto w = numbers<T>(32, 2);
  const std::vector<std::int32_t> targets = {0, 2};
  std::vector<float> scratch(head_scratch(s));
  std::vector<T> dx(4), dw(32), dw_again(32);
  const auto run = [&](std::vector<T>& gradient) {
    return head_cross_entropy(s, x.data(), w.data(), targets.data(), dx.data(), gradient.data(),
                              false, scratch.data());
  };
  for_each_isa([&] {
    const double loss = run(dw);
    for (std::size_t i = 6; i < 32; ++i) {
      EXPECT_EQ(as_double(dw[i]), 0) << i;
      w[i] = element<T>(40);  // a logit that would win
    }
    EXPECT_EQ(run(dw_again), loss);
    EXPECT_TRUE(same_bits(dw, dw_again));
  });
}

TYPED_TEST(CrossEntropy, LargeLogitsNeitherOverflowNorVanish) {
  using T = TypeParam;
  const HeadShape s{2, 4, 4, 1};
  const std::vector<T> x = {element<T>(1), element<T>(-1)};
  const std::vector<T> w = {element<T>(1000), element<T>(0), element<T>(-1000), element<T>(992)};
  const std::vector<std::int32_t> targets = {0, 0};
  std::vector<float> scratch(head_scratch(s));
  for_each_isa([&] {
    const double loss = head_cross_entropy<T>(s, x.data(), w.data(), targets.data(), nullptr,
                                              nullptr, false, scratch.data());
    EXPECT_NEAR(loss, 2000 + std::log1p(std::exp(-8.0)), 1e-3);
  });
}

}  // namespace
}  // namespace stepscope::nn
