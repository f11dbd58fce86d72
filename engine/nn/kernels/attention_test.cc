// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/attention.h"

#include <gtest/gtest.h>

#include "engine/nn/kernels/kernel_test_data.h"

namespace stepscope::nn {
namespace {

template <class T>
class Attention : public KernelTest<T> {};
TYPED_TEST_SUITE(Attention, Elements);

// The rows of q, k, v of one batch and query head in [batch, tokens, row] of qkv.
struct Rows {
  std::size_t tokens, stride, q, k, v, d;
  double scale;
};

Rows rows_of(const AttentionShape& s, std::int64_t batch, std::int64_t head) {
  const std::int64_t row = (s.heads + 2 * s.kv_heads) * s.head_dim;
  const std::int64_t kv = head / (s.heads / s.kv_heads);
  const std::int64_t base = batch * s.tokens * row;
  const auto at = [&](std::int64_t h) { return static_cast<std::size_t>(base + h * s.head_dim); };
  return {static_cast<std::size_t>(s.tokens),
          static_cast<std::size_t>(row),
          at(head),
          at(s.heads + kv),
          at(s.heads + s.kv_heads + kv),
          static_cast<std::size_t>(s.head_dim),
          1 / std::sqrt(static_cast<double>(s.head_dim))};
}

double product(const std::vector<double>& x, std::size_t a, const std::vector<double>& y,
               std::size_t b, std::size_t d) {
  double sum = 0;
  for (std::size_t i = 0; i < d; ++i) sum += x[a + i] * y[b + i];
  return sum;
}

// The probabilities of query i over keys 0..i, and the logarithm of the sum of the exponentials.
std::vector<double> probabilities(const Rows& r, const std::vector<double>& qkv, std::size_t i,
                                  double& logsumexp) {
  std::vector<double> p;
  double sum = 0;
  for (std::size_t j = 0; j <= i; ++j) {
    const double s = product(qkv, r.q + i * r.stride, qkv, r.k + j * r.stride, r.d) * r.scale;
    p.push_back(std::exp(s));
    sum += p.back();
  }
  for (double& x : p) x /= sum;
  logsumexp = std::log(sum);
  return p;
}

struct Reference {
  std::vector<double> out, logsumexp;
};

std::size_t out_at(const AttentionShape& s, std::int64_t b, std::int64_t h, std::size_t i) {
  const std::int64_t row = (b * s.tokens + static_cast<std::int64_t>(i)) * s.heads + h;
  return static_cast<std::size_t>(row * s.head_dim);
}

Reference forward(const AttentionShape& s, const std::vector<double>& qkv) {
  Reference result{
      std::vector<double>(static_cast<std::size_t>(s.batch * s.tokens * s.heads * s.head_dim)), {}};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Rows r = rows_of(s, b, h);
      for (std::size_t i = 0; i < r.tokens; ++i) {
        double logsumexp = 0;
        const auto p = probabilities(r, qkv, i, logsumexp);
        result.logsumexp.push_back(logsumexp);
        double* out = result.out.data() + out_at(s, b, h, i);
        for (std::size_t j = 0; j <= i; ++j) {
          for (std::size_t e = 0; e < r.d; ++e) out[e] += p[j] * qkv[r.v + j * r.stride + e];
        }
      }
    }
  }
  return result;
}

std::vector<double> backward(const AttentionShape& s, const std::vector<double>& qkv,
                             const std::vector<double>& dout) {
  std::vector<double> d(qkv.size());
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Rows r = rows_of(s, b, h);
      for (std::size_t i = 0; i < r.tokens; ++i) {
        double unused = 0, delta = 0;
        const auto p = probabilities(r, qkv, i, unused);
        const std::size_t g = out_at(s, b, h, i);
        std::vector<double> dp;
        for (std::size_t j = 0; j <= i; ++j) {
          dp.push_back(product(dout, g, qkv, r.v + j * r.stride, r.d));
          delta += p[j] * dp[j];
        }
        for (std::size_t j = 0; j <= i; ++j) {
          const double ds = p[j] * (dp[j] - delta) * r.scale;
          for (std::size_t e = 0; e < r.d; ++e) {
            d[r.q + i * r.stride + e] += ds * qkv[r.k + j * r.stride + e];
            d[r.k + j * r.stride + e] += ds * qkv[r.q + i * r.stride + e];
            d[r.v + j * r.stride + e] += p[j] * dout[g + e];
          }
        }
      }
    }
  }
  return d;
}

template <class T>
struct Result {
  std::vector<T> out, dqkv;
  std::vector<float> logsumexp;
};

template <class T>
Result<T> run(const AttentionShape& s, const std::vector<T>& qkv, const std::vector<T>& dout) {
  Result<T> r{std::vector<T>(dout.size()), std::vector<T>(qkv.size(), element<T>(9)),
              std::vector<float>(static_cast<std::size_t>(s.batch * s.heads * s.tokens))};
  std::vector<float> scratch(attention_scratch(s), std::numeric_limits<float>::quiet_NaN());
  attention_forward(s, qkv.data(), r.out.data(), r.logsumexp.data(), scratch.data());
  std::ranges::fill(scratch, std::numeric_limits<float>::quiet_NaN());
  attention_backward(s, qkv.data(), r.out.data(), r.logsumexp.data(), dout.data(), r.dqkv.data(),
                     scratch.data());
  return r;
}

std::int64_t qkv_size(const AttentionShape& s) {
  return s.batch * s.tokens * (s.heads + 2 * s.kv_heads) * s.head_dim;
}

// Odd and tiny shapes, one tile, several tiles, partial tiles, grouped queries.
const AttentionShape shapes[] = {
    {1, 1, 1, 1, 1},    {2, 3, 2, 1, 2},     {1, 7, 3, 3, 5},     {1, 17, 2, 2, 16},
    {2, 64, 1, 1, 8},   {1, 65, 2, 1, 7},    {1, 70, 4, 2, 33},   {1, 128, 1, 1, 64},
    {1, 130, 2, 2, 20}, {1, 200, 1, 1, 128}, {1, 100, 6, 2, 127},
};

// f32 errors: sums of head_dim and of `tokens` numbers, and e^x. Bf16 errors: the results are
// rounded once. `out` was rounded before; it enters the backward pass in the sum of dout out.
template <class T>
constexpr double tolerance = 2 * rounding<T> + 0x1p-17;

TYPED_TEST(Attention, EqualsTheReferenceForwardAndBackward) {
  using T = TypeParam;
  for (const AttentionShape& s : shapes) {
    const auto qkv = numbers<T>(qkv_size(s), 1);
    const auto dout = numbers<T>(s.batch * s.tokens * s.heads * s.head_dim, 2);
    const Reference want = forward(s, doubles(qkv));
    const auto gradient = backward(s, doubles(qkv), doubles(dout));
    const std::string what = std::to_string(s.tokens) + " tokens, " + std::to_string(s.heads) +
                             ":" + std::to_string(s.kv_heads) + " heads of " +
                             std::to_string(s.head_dim);
    for_each_isa([&] {
      const auto got = run(s, qkv, dout);
      expect_close(got.out, want.out, tolerance<T>, 1.0, what);
      expect_close(got.logsumexp, want.logsumexp, 0x1p-18, 1.0, what + ", logsumexp");
      // dp - delta is a difference of two sums of head_dim products.
      const double unit = std::sqrt(static_cast<double>(s.head_dim)) + 2;
      expect_close(got.dqkv, gradient, tolerance<T>, unit, what + ", gradient");
      const auto again = run(s, qkv, dout);
      EXPECT_TRUE(same_bits(got.out, again.out) && same_bits(got.dqkv, again.dqkv)) << what;
    });
  }
}

// Checks the reference's own backward pass.
TEST(AttentionReference, GradientEqualsCentralDifferences) {
  const AttentionShape small[] = {{1, 1, 1, 1, 3}, {2, 5, 4, 2, 3}, {1, 66, 2, 1, 2}};
  for (const AttentionShape& s : small) {
    const auto qkv = numbers<double>(qkv_size(s), 1);
    const auto dout = numbers<double>(s.batch * s.tokens * s.heads * s.head_dim, 2);
    const auto want = differences(qkv, [&](const auto& x) { return dot(forward(s, x).out, dout); });
    expect_close(backward(s, qkv, dout), want, 1e-7, 1.0, "reference");
  }
}

TYPED_TEST(Attention, LargeScoresNeitherOverflowNorVanish) {
  using T = TypeParam;
  const AttentionShape s{1, 90, 1, 1, 4};
  const auto qkv = numbers<T>(qkv_size(s), 1, 30.0);  // scores of some +-1800
  const auto dout = numbers<T>(s.tokens * s.head_dim, 2);
  for_each_isa([&] {
    const auto got = run(s, qkv, dout);
    for (const T x : got.out) EXPECT_TRUE(std::abs(as_double(x)) < 150);
    for (const T x : got.dqkv) EXPECT_TRUE(std::isfinite(as_double(x)));
  });
}

TYPED_TEST(Attention, AQueryDoesNotSeeWhatFollows) {
  using T = TypeParam;
  const AttentionShape s{1, 150, 2, 1, 12};
  auto qkv = numbers<T>(qkv_size(s), 1);
  const auto dout = numbers<T>(s.tokens * s.heads * s.head_dim, 2);
  for_each_isa([&] {
    const auto before = run(s, qkv, dout).out;
    const std::size_t cut = 77, row = 4 * 12;
    auto changed = qkv;
    for (std::size_t i = cut * row; i < changed.size(); ++i) changed[i] = element<T>(5);
    const auto after = run(s, changed, dout).out;
    const auto kept = static_cast<std::ptrdiff_t>(cut * 2 * 12);
    EXPECT_TRUE(same_bits(std::vector<T>(before.begin(), before.begin() + kept),
                          std::vector<T>(after.begin(), after.begin() + kept)));
    EXPECT_FALSE(same_bits(before, after));
  });
}

}  // namespace
}  // namespace stepscope::nn
