// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/process_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stepscope {
namespace {

using Ranks = std::vector<int>;

Collective named(Trace& trace, std::string_view name, std::string_view ranks, int size) {
  Collective c;
  c.group_name = trace.strings.intern(name);
  c.group_ranks = trace.strings.intern(ranks);
  c.group_size = size;
  return c;
}

TEST(ProcessGroup, ReadsListsAndRefusesCutOnes) {
  EXPECT_EQ(parse_ranks("[0, 2, 4]"), (Ranks{0, 2, 4}));
  EXPECT_EQ(parse_ranks("[]"), std::nullopt);
  EXPECT_EQ(parse_ranks("[0, 1, ...]"), std::nullopt);
  EXPECT_EQ(parse_ranks("0, 1"), std::nullopt);
  EXPECT_EQ(parse_ranks(""), std::nullopt);
}

TEST(ProcessGroup, RestoresACutListFromStartAndStride) {
  Trace trace;
  Collective c = named(trace, "7", "[1, 3, ...]", 4);
  c.global_rank_start = 1;
  c.global_rank_stride = 2;
  const auto group = group_of(trace, c);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->ranks, (Ranks{1, 3, 5, 7}));
}

TEST(ProcessGroup, ASizeThatNoJobHasMakesNoList) {
  Trace trace;
  Collective c = named(trace, "7", "[0, 1]", 2'147'483'647);
  c.global_rank_start = 0;
  c.global_rank_stride = 1;
  trace.metadata.world_size = c.group_size;
  const auto group = group_of(trace, c);
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->ranks.empty());
}

TEST(ProcessGroup, RestoresACutListFromTheFilesOwnTable) {
  Trace trace;
  trace.metadata.groups.push_back({"7", "mesh_tp", "nccl", 3, {0, 4, 5}});
  const auto group = group_of(trace, named(trace, "7", "[0, ...]", 3));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->ranks, (Ranks{0, 4, 5}));
  EXPECT_EQ(group->description, "mesh_tp");
}

TEST(ProcessGroup, AnEmptyListIsTheWholeWorldWhereSizesAgree) {
  Trace trace;
  trace.metadata.world_size = 3;
  EXPECT_EQ(group_of(trace, named(trace, "0", "[]", 3))->ranks, (Ranks{0, 1, 2}));
  EXPECT_TRUE(group_of(trace, named(trace, "9", "[]", 2))->ranks.empty());
}

TEST(ProcessGroup, IsAbsentWithoutNameAndRanks) {
  Trace trace;
  EXPECT_FALSE(group_of(trace, named(trace, "", "[]", 2)));
}

TEST(ProcessGroup, OneNameOverOtherRanksIsAnotherGroup) {
  const std::vector<std::vector<CommGroup>> views = {
      {{"11", "", {0, 1}, 2}}, {{"11", "", {0, 1}, 2}}, {{"11", "", {2, 3}, 2}}};
  const std::vector<int> ranks = {0, 1, 2};
  const GroupJoin join = join_groups(views, ranks);
  EXPECT_EQ(join.groups.size(), 2U);
  EXPECT_EQ(join.job_group[0][0], join.job_group[1][0]);
  EXPECT_NE(join.job_group[0][0], join.job_group[2][0]);
}

TEST(ProcessGroup, SeveralGroupsOverTheSameRanksStayApartByName) {
  const std::vector<std::vector<CommGroup>> views = {
      {{"11", "", {0, 1}, 2}, {"12", "", {0, 1}, 2}},
      {{"12", "", {1, 0}, 2}, {"11", "", {1, 0}, 2}}};
  const std::vector<int> ranks = {0, 1};
  const GroupJoin join = join_groups(views, ranks);
  EXPECT_EQ(join.groups.size(), 2U);
  EXPECT_EQ(join.job_group[0][0], join.job_group[1][1]);
  EXPECT_EQ(join.job_group[0][1], join.job_group[1][0]);
}

TEST(ProcessGroup, RanksThatNumberGroupsOfTheirOwnAreJoinedByMembers) {
  const std::vector<std::vector<CommGroup>> views = {{{"0", "", {0, 1}, 2}, {"5", "", {0, 1}, 2}},
                                                     {{"0", "", {0, 1}, 2}, {"9", "", {0, 1}, 2}}};
  const std::vector<int> ranks = {0, 1};
  const GroupJoin join = join_groups(views, ranks);
  EXPECT_EQ(join.groups.size(), 2U);
  EXPECT_EQ(join.job_group[0][1], join.job_group[1][1]);
}

TEST(ProcessGroup, NamesThatBothRanksKnowAreNeverJoined) {
  const std::vector<std::vector<CommGroup>> views = {{{"5", "", {0, 1}, 2}},
                                                     {{"9", "", {0, 1}, 2}, {"5", "", {0, 1}, 2}}};
  const std::vector<int> ranks = {0, 1};
  const GroupJoin join = join_groups(views, ranks);
  EXPECT_EQ(join.job_group[0][0], join.job_group[1][1]);
  EXPECT_NE(join.job_group[0][0], join.job_group[1][0]);
}

TEST(ProcessGroup, ARankThatLacksTheMembersJoinsByName) {
  const std::vector<std::vector<CommGroup>> views = {{{"tp", "", {0, 1}, 2}},
                                                     {{"tp", "d", {}, -1}}};
  const std::vector<int> ranks = {0, 1};
  const GroupJoin join = join_groups(views, ranks);
  ASSERT_EQ(join.groups.size(), 1U);
  EXPECT_EQ(join.groups[0].ranks, (Ranks{0, 1}));
  EXPECT_EQ(join.groups[0].size, 2);
  EXPECT_EQ(join.groups[0].description, "d");
}

// Sibling groups may share a name, and lists of more than 30 ranks are cut.
TEST(ProcessGroup, CutListsOfSiblingsStayApart) {
  EXPECT_EQ(parse_cut_ranks("[0, 2, ...]"), (Ranks{0, 2}));
  EXPECT_EQ(parse_cut_ranks("[0, 2]"), std::nullopt);
  const CommGroup even{.name = "dp", .size = 4, .first = {0, 2}};
  const CommGroup odd{.name = "dp", .size = 4, .first = {1, 3}};
  const std::vector<std::vector<CommGroup>> views = {{even}, {odd},  {even}, {odd},
                                                     {even}, {even}, {odd}};
  const std::vector<int> ranks = {0, 1, 2, 3, 4, 6, 7};
  const GroupJoin join = join_groups(views, ranks);
  ASSERT_EQ(join.groups.size(), 2U);
  EXPECT_EQ(join.groups[0].ranks, (Ranks{0, 2, 4, 6}));
  EXPECT_TRUE(join.groups[1].ranks.empty());  // rank 5 is not traced
  EXPECT_EQ(join.job_group[0][0], join.job_group[5][0]);
  EXPECT_EQ(join.job_group[1][0], join.job_group[6][0]);
}

TEST(ProcessGroup, ACutListIsKept) {
  Trace trace;
  const auto group = group_of(trace, named(trace, "7", "[1, 3, ...]", 4));
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->ranks.empty());
  EXPECT_EQ(group->first, (Ranks{1, 3}));
}

std::int64_t cost_of(const std::vector<std::int64_t>& cost,
                     const std::vector<std::size_t>& columns) {
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < columns.size(); ++r) {
    const std::int64_t one = cost[r * columns.size() + columns[r]];
    if (one == no_assignment) return no_assignment;
    sum += one;
  }
  return sum;
}

TEST(CheapestAssignment, IsTheCheapestOfAllOrders) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + random() % 6;
    std::vector<std::int64_t> cost(n * n);
    for (std::int64_t& c : cost)
      c = random() % 4 == 0 ? no_assignment : static_cast<std::int64_t>(random() % 50);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::int64_t least = no_assignment;
    do least = std::min(least, cost_of(cost, order));
    while (std::ranges::next_permutation(order).found);
    const auto found = cheapest_assignment(cost, n);
    ASSERT_EQ(found.has_value(), least != no_assignment) << trial;
    if (!found) continue;
    EXPECT_EQ(cost_of(cost, *found), least) << trial;
  }
}

}  // namespace

}  // namespace stepscope
