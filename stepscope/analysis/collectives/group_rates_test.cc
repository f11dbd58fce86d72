// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/group_rates.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

// Three groups of two ranks that all-reduce the same bytes; the times of their transfers in ns.
Collectives three_groups(const std::vector<std::int64_t>& times) {
  static const std::array<std::string, 3> names = {"tp0", "tp1", "tp2"};
  static const std::array<std::string, 3> members = {"[0, 1]", "[2, 3]", "[4, 5]"};
  std::vector<TestRank> ranks(6);
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (int i = 0; i < 4; ++i) {
      const std::int64_t t = 10'000 * i;
      ranks[r].all_reduce(t, t + times[r / 2],
                          {.group = names[r / 2], .ranks = members[r / 2], .seq = i});
    }
  return analyze_collectives(TestJob(std::move(ranks)).views());
}

TEST(GroupRates, AGroupIsComparedWithTheMiddleOfItsSiblings) {
  const auto rates = group_rates(three_groups({1000, 4000, 2000}));
  ASSERT_EQ(rates.size(), 3U);
  EXPECT_EQ(rates[0].bytes, Bytes{4000});
  EXPECT_EQ(rates[0].count, 4U);
  EXPECT_EQ(rates[0].transfer, Ns{1000});
  EXPECT_DOUBLE_EQ(rates[0].busbw->value, 4000 / 1000e-9);
  // The lower middle of the two others.
  EXPECT_DOUBLE_EQ(*rates[0].of_siblings, 2.0);
  EXPECT_DOUBLE_EQ(*rates[1].of_siblings, 0.25);
  EXPECT_DOUBLE_EQ(*rates[2].of_siblings, 0.5);
}

TEST(GroupRates, EqualGroupsAreAsFastAsTheirSiblings) {
  for (const GroupRate& r : group_rates(three_groups({1000, 1000, 1000})))
    EXPECT_DOUBLE_EQ(*r.of_siblings, 1.0);
}

TEST(GroupRates, AGroupWithoutSiblingsIsNotCompared) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) rank.all_reduce(0, 1000, {.seq = 1});
  const auto rates = group_rates(analyze_collectives(TestJob(std::move(ranks)).views()));
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_FALSE(rates[0].of_siblings);
}

TEST(GroupRates, OfManySizesTheLongestAreListed) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks)
    for (int i = 0; i < 12; ++i) {
      const std::int64_t t = 10'000 * i;
      rank.all_reduce(t, t + 100 * (i + 1), {.elements = 10 * (i + 1), .seq = i});
    }
  const auto rates = group_rates(analyze_collectives(TestJob(std::move(ranks)).views()));
  ASSERT_EQ(rates.size(), most_group_sizes);
  EXPECT_EQ(rates.front().transfer, Ns{1200});
  EXPECT_EQ(rates.back().transfer, Ns{500});
}

}  // namespace
}  // namespace stepscope
