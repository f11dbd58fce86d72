// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace stepscope {
namespace {

using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;

TEST(Summary, DescribesASetOfNumbers) {
  const auto s = summarize(Doubles{2, 4, 4, 4, 5, 5, 7, 9});
  ASSERT_TRUE(s);
  EXPECT_EQ(s->count, 8u);
  EXPECT_DOUBLE_EQ(s->mean, 5);
  ASSERT_TRUE(s->stdev);
  EXPECT_DOUBLE_EQ(*s->stdev, std::sqrt(32.0 / 7));
  EXPECT_EQ(s->min, 2);
  EXPECT_EQ(s->max, 9);
}

TEST(Summary, OfNothingIsAbsent) {
  EXPECT_FALSE(summarize(Doubles{}));
  EXPECT_FALSE(mean(Doubles{}));
  EXPECT_FALSE(median(Integers{}));
  EXPECT_FALSE(quantile(Doubles{}, 0.1));
  EXPECT_FALSE(quantile_sorted(Doubles{}, 0.1));
}

TEST(Summary, OneValueHasAMeanButNoDeviation) {
  const auto s = summarize(Integers{7});
  ASSERT_TRUE(s);
  EXPECT_EQ(s->mean, 7);
  EXPECT_FALSE(s->stdev);
  EXPECT_FALSE(sample_stdev(Doubles{7}));
  EXPECT_EQ(quantile(Integers{7}, 0.9), 7);
}

TEST(Summary, OfUnixNanosecondsKeepsTheirDifferences) {
  const std::int64_t base = 1'700'000'000'000'000'000;
  const Integers v{base, base + 1000, base + 2000};
  EXPECT_DOUBLE_EQ(*sample_stdev(v), 1000);
  EXPECT_DOUBLE_EQ(*mean(v), static_cast<double>(base + 1000));
}

TEST(Quantile, InterpolatesBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(*median(Doubles{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(*median(Integers{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(*quantile(Doubles{10, 20, 30, 40, 50}, 0.9), 46);
}

TEST(Quantile, ClampsTheShareToTheSet) {
  EXPECT_EQ(quantile(Doubles{1, 2, 3}, -1), 1);
  EXPECT_EQ(quantile(Doubles{1, 2, 3}, 2), 3);
}

TEST(Quantile, BySelectionEqualsTheOneOfSortedValues) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Integers v(1 + random() % 40);
    for (auto& x : v) x = static_cast<std::int64_t>(random() % 20);
    Integers sorted = v;
    std::sort(sorted.begin(), sorted.end());
    for (const double q : {0.0, 0.1, 0.25, 0.5, 0.77, 1.0}) {
      EXPECT_EQ(quantile(v, q), quantile_sorted(sorted, q));
    }
  }
}

}  // namespace
}  // namespace stepscope
