// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/rank_names.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using NamedRanks = std::vector<std::optional<int>>;

NamedRanks ranks(std::vector<std::string> names, std::optional<int> world_size = {}) {
  return ranks_from_names(names, world_size);
}
const NamedRanks two_unknown(2);

TEST(RankNames, ANumberBehindTheWordRankCounts) {
  EXPECT_EQ(ranks({"rank3_trace.json", "rank11_trace.json"}), (NamedRanks{3, 11}));
  EXPECT_EQ(ranks({"x/2024_rank-0.json.gz", "x/2024_Rank_1.json.gz"}), (NamedRanks{0, 1}));
  EXPECT_EQ(ranks({"rank7.json"}), (NamedRanks{7}));
  EXPECT_EQ(ranks({"rank0_5.json", "rank0_6.json"}), (NamedRanks{0, 0}));  // windows of one rank
}

TEST(RankNames, ANumberMustBeBelowTheWorldSize) {
  EXPECT_EQ(ranks({"rank8.json", "rank9.json"}, 8), two_unknown);
  EXPECT_EQ(ranks({"host_3.json", "host_5.json"}, 8), (NamedRanks{3, 5}));
  EXPECT_EQ(ranks({"host_3.json", "host_9.json"}, 8), two_unknown);
}

TEST(RankNames, OtherNumbersMustFormZeroToNMinusOne) {
  EXPECT_EQ(ranks({"t_1.json", "t_0.json", "t_2.json"}), (NamedRanks{1, 0, 2}));
  EXPECT_EQ(ranks({"t_1.json", "t_2.json"}), two_unknown);
  EXPECT_EQ(ranks({"t_0.json", "t_0.json"}), two_unknown);
  EXPECT_EQ(ranks({"node4_1712000000_0.json", "node4_1712000001_1.json"}), (NamedRanks{0, 1}));
}

TEST(RankNames, OneFileWithoutTheWordSaysNothing) {
  EXPECT_EQ(ranks({"trace_0.json"}), NamedRanks(1));
  EXPECT_EQ(ranks({"trace.json"}), NamedRanks(1));
  EXPECT_EQ(ranks({}), NamedRanks{});
}

TEST(RankNames, TheWordBeatsAnEarlierNumber) {
  EXPECT_EQ(ranks({"0_rank5.json", "1_rank4.json"}, 8), (NamedRanks{5, 4}));
}

TEST(RankNames, DirectoriesTellWhereFileNamesDoNot) {
  EXPECT_EQ(ranks({"rank_3/x.json", "rank_11/x.json"}), (NamedRanks{3, 11}));
  EXPECT_EQ(ranks({"run/worker1/a.json", "run/worker0/a.json"}), (NamedRanks{1, 0}));
  EXPECT_EQ(ranks({"/t/rank0/host_4711.json", "/t/rank1/host_815.json"}), (NamedRanks{0, 1}));
  EXPECT_EQ(ranks({"./rank0//x.json", "rank1/x.json"}), (NamedRanks{0, 1}));
  EXPECT_EQ(ranks({"r0/t_0.json", "r1/t_0.json"}), (NamedRanks{0, 1}));
  EXPECT_EQ(ranks({"rank0/a.json", "rank0/b.json", "rank1/a.json"}), (NamedRanks{0, 0, 1}))
      << "windows";
}

TEST(RankNames, FileNamesAreAskedFirst) {
  EXPECT_EQ(ranks({"rank0/rank5.json", "rank1/rank4.json"}), (NamedRanks{5, 4}));
  EXPECT_EQ(ranks({"iteration_0/rank7.json", "iteration_1/rank7.json"}), (NamedRanks{7, 7}));
}

TEST(RankNames, OfDirectoriesOnlyTheInnermostThatDifferCount) {
  EXPECT_EQ(ranks({"rank_0/day1/x.json", "rank_1/day1/x.json"}), (NamedRanks{0, 1}));
  EXPECT_EQ(ranks({"rank_0/day1/x.json", "rank_1/day2/x.json"}), two_unknown);
  EXPECT_EQ(ranks({"rank_0/x.json", "rank_0/y.json"}), two_unknown) << "one directory";
  EXPECT_EQ(ranks({"x.json", "rank_1/x.json"}), two_unknown);
}

TEST(RankNames, DirectoriesFollowTheRuleOfFileNames) {
  EXPECT_EQ(ranks({"worker1/x.json", "worker2/x.json"}), two_unknown);
  EXPECT_EQ(ranks({"worker1/x.json", "worker2/x.json"}, 4), (NamedRanks{1, 2}));
  EXPECT_EQ(ranks({"rank8/x.json", "rank9/x.json"}, 8), two_unknown);
  EXPECT_EQ(ranks({"rank_5/trace.json"}), NamedRanks(1)) << "one file has none that differs";
}

}  // namespace
}  // namespace stepscope
