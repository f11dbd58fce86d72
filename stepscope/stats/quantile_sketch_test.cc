// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/quantile_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "stepscope/stats/decayed_ratio.h"
#include "stepscope/stats/quantile_sketch_test_match.h"

namespace stepscope {
namespace {

// The value of rank floor(q (n - 1)), which the sketch approximates.
double exact(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

std::vector<double> drawn(int kind, std::size_t count, std::mt19937_64& random) {
  std::lognormal_distribution<double> wide(12, 3);
  std::uniform_real_distribution<double> flat(1, 5e6);
  std::exponential_distribution<double> tail(1e-6);
  std::vector<double> values(count);
  for (double& v : values) {
    if (kind == 0) v = wide(random);
    if (kind == 1) v = flat(random);
    if (kind == 2) v = 1 + tail(random);
    if (kind == 3) v = random() % 2 == 0 ? 1000 : 7e9;  // two modes, many ties
  }
  return values;
}

QuantileSketch sketch_of(std::span<const double> values) {
  QuantileSketch sketch;
  for (const double v : values) sketch.add(v);
  return sketch;
}

TEST(QuantileSketch, StaysWithinOnePercentOfExactQuantiles) {
  std::mt19937_64 random(7);
  for (int kind = 0; kind < 4; ++kind) {
    for (const std::size_t count : {1UL, 2UL, 10UL, 1000UL, 50'000UL}) {
      const auto values = drawn(kind, count, random);
      const auto sketch = sketch_of(values);
      for (const double q : {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
        const double truth = exact(values, q);
        EXPECT_NEAR(*sketch.quantile(q), truth, 0.01 * truth * (1 + 1e-9))
            << "kind " << kind << ", " << count << " values, q " << q;
      }
      EXPECT_EQ(sketch.min(), *std::min_element(values.begin(), values.end()));
      EXPECT_EQ(sketch.max(), *std::max_element(values.begin(), values.end()));
      EXPECT_EQ(sketch.count(), count);
    }
  }
}

TEST(QuantileSketch, EdgesOfBucketsAreAtMostTheAllowedRatioApart) {
  const double allowed = 1.01 / 0.99 * (1 + 1e-12);
  for (int b = 1; b + 2 < QuantileSketch::bucket_count; ++b) {
    const double low = QuantileSketch::upper_edge(b - 1);
    const double high = QuantileSketch::upper_edge(b);
    ASSERT_GT(high, low);
    ASSERT_LE(high / low, allowed) << "bucket " << b;
    // Values just inside both edges belong to this bucket.
    ASSERT_EQ(QuantileSketch::bucket(low * (1 + 1e-9)), b);
    ASSERT_EQ(QuantileSketch::bucket(high * (1 - 1e-9)), b);
  }
}

TEST(QuantileSketch, EveryWholeNanosecondHasItsBucket) {
  // Each single value is answered within 1 %, also among other values.
  for (double v = 1; v < 20'000; ++v) {
    QuantileSketch sketch;
    sketch.add(0.5);
    sketch.add(v);
    sketch.add(1e15);
    EXPECT_NEAR(*sketch.quantile(0.5), v, 0.01 * v);
  }
}

TEST(QuantileSketch, MergesLikeOneStream) {
  std::mt19937_64 random(11);
  for (int kind = 0; kind < 4; ++kind) {
    const auto a = drawn(kind, 500, random);
    const auto b = drawn((kind + 1) % 4, 300, random);
    const auto c = drawn((kind + 2) % 4, 900, random);
    std::vector<double> all(a);
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    auto left = sketch_of(a);
    left.merge(sketch_of(b));
    left.merge(sketch_of(c));
    auto right = sketch_of(c);
    auto inner = sketch_of(b);
    right.merge(inner);
    right.merge(sketch_of(a));
    EXPECT_TRUE(test::same_distribution(left, sketch_of(all)));
    EXPECT_TRUE(test::same_distribution(left, right));
    EXPECT_NEAR(left.sum(), sketch_of(all).sum(), 1e-9 * left.sum());
  }
  QuantileSketch none;
  auto some = sketch_of(std::vector<double>{3, 4});
  const auto before = some;
  some.merge(none);
  EXPECT_TRUE(test::same_distribution(some, before));
  none.merge(some);
  EXPECT_TRUE(test::same_distribution(none, before));
}

TEST(QuantileSketch, KeepsToItsMemory) {
  QuantileSketch sketch;
  sketch.reserve();
  const auto* memory = sketch.counts().data();
  for (double v = 1e-3; v < 1e20; v *= 1.37) sketch.add(v);
  for (double v = 1e20; v > 1e-3; v /= 1.41) sketch.add(v);
  sketch.add(0);
  EXPECT_LE(sketch.counts().size(), static_cast<std::size_t>(QuantileSketch::bucket_count));
  EXPECT_EQ(sketch.counts().data(), memory);
  EXPECT_EQ(QuantileSketch::bucket_count, 1542);
}

TEST(QuantileSketch, AnswersNothingWithoutValues) {
  const QuantileSketch none;
  EXPECT_FALSE(none.quantile(0.5));
  EXPECT_FALSE(none.min());
  EXPECT_FALSE(none.mean());
  EXPECT_EQ(none.count_up_to(1e9), 0U);
}

TEST(QuantileSketch, CountsUpToABound) {
  std::mt19937_64 random(3);
  const auto values = drawn(0, 20'000, random);
  const auto sketch = sketch_of(values);
  for (const double bound : {10.0, 1e3, 1e5, 1e6, 1e8, 1e12}) {
    const auto up_to = [&](double x) {
      return static_cast<std::uint64_t>(
          std::count_if(values.begin(), values.end(), [&](double v) { return v <= x; }));
    };
    EXPECT_GE(sketch.count_up_to(bound), up_to(bound));
    EXPECT_LE(sketch.count_up_to(bound), up_to(bound * 1.0203));
  }
}

TEST(QuantileSketch, ComesBackFromItsParts) {
  std::mt19937_64 random(5);
  const auto sketch = sketch_of(drawn(0, 400, random));
  const QuantileSketch again(sketch.counts(), sketch.first_bucket(), sketch.sum(), *sketch.min(),
                             *sketch.max());
  EXPECT_TRUE(test::same_distribution(again, sketch));
  const std::vector<std::uint64_t> one{1};
  EXPECT_EQ(QuantileSketch(one, QuantileSketch::bucket_count, 1, 1, 1).count(), 0U);
  EXPECT_EQ(QuantileSketch(one, -1, 1, 1, 1).count(), 0U);
}

TEST(DecayedRatio, IsARatioOfSumsThatForgets) {
  // 1000 tokens/s for a long time, then 10 tokens in 0.001 s: hardly moves. Then 500/s for 10 tau.
  DecayedRatio rate{.tau = 10};
  EXPECT_FALSE(rate.value());
  double now = 0;
  for (int i = 0; i < 100; ++i) rate.add(now += 1, 1000, 1);
  EXPECT_NEAR(*rate.value(), 1000, 1e-9);
  rate.add(now += 0.001, 10, 0.001);
  EXPECT_NEAR(*rate.value(), 1000, 1);
  for (int i = 0; i < 100; ++i) rate.add(now += 1, 500, 1);
  EXPECT_NEAR(*rate.value(), 500, 500 * std::exp(-9.9));
}

TEST(DecayedRatio, ConcatContinuesAndGatherAddsNumeratorsOnly) {
  DecayedRatio whole{.tau = 3};
  DecayedRatio earlier{.tau = 3};
  DecayedRatio later{.tau = 3};
  for (int i = 1; i <= 20; ++i) {
    whole.add(i, 100 + i, 1);
    (i <= 12 ? earlier : later).add(i, 100 + i, 1);
  }
  EXPECT_NEAR(*concat(earlier, later).value(), *whole.value(), 1e-9);
  // Two equal ranks process twice the tokens in the same time.
  EXPECT_NEAR(*gather(whole, whole).value(), 2 * *whole.value(), 1e-9);
}

}  // namespace
}  // namespace stepscope
