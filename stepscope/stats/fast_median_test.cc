// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/fast_median.h"

#include <gtest/gtest.h>

#include <random>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

TEST(FastMedian, IsTheMedianOfFewAndOfMany) {
  std::mt19937_64 random(3);
  for (const std::size_t size : {1U, 2U, 3U, 4U, 15U, 16U, 17U, 18U, 999U, 16'384U, 50'001U})
    for (const std::size_t kinds : {2U, 5U, 1'000'000U}) {
      std::vector<double> values;
      for (std::size_t i = 0; i < size; ++i)
        values.push_back(static_cast<double>(random() % kinds) / 8);
      const auto expected = median(values);
      EXPECT_EQ(fast_median(values), *expected) << size << " of " << kinds;
    }
}

// The sample of every n-th value says nothing about the others.
TEST(FastMedian, OfValuesThatASampleMisses) {
  std::vector<double> values(40'960, 1.0);
  for (std::size_t i = 0; i < values.size(); i += 10) values[i] = 5 + static_cast<double>(i);
  EXPECT_EQ(fast_median(values), 1.0);
}

}  // namespace
}  // namespace stepscope
