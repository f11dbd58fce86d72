// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/nccl_shape.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

using Ranks = std::vector<int>;

TEST(NcclShape, ChannelsOfOneOrderAreOneRing) {
  LoggedCommunicator c{.ranks = 4};
  c.rings = {{0, "0 1 2 3"}, {1, "0 3 2 1"}, {2, "0 1 2 3"}};
  const NcclShape shape = nccl_shape(c);
  ASSERT_EQ(shape.rings.size(), 2U);
  EXPECT_EQ(shape.rings[0].channels, (Ranks{0, 2}));
  EXPECT_EQ(shape.rings[0].order, (Ranks{0, 1, 2, 3}));
  EXPECT_TRUE(shape.rings[0].whole);
  EXPECT_EQ(shape.rings[1].order, (Ranks{0, 3, 2, 1}));
  EXPECT_TRUE(shape.trees.empty());
}

TEST(NcclShape, TheLineOfALongRingIsItsBegin) {
  LoggedCommunicator c{.ranks = 32};
  std::string line = "0";
  for (int i = 1; i < 20; ++i) line += ' ' + std::to_string(i);
  c.rings = {{0, line}};
  NcclShape shape = nccl_shape(c);
  ASSERT_EQ(shape.rings.size(), 1U);
  EXPECT_FALSE(shape.rings[0].whole);
  EXPECT_EQ(shape.rings[0].order.size(), 20U);
  // Hops of a part of the ranks show no more; those of all do.
  for (int i = 0; i < 31; ++i) c.ring_hops[0][i] = i + 1;
  c.ring_hops[0].erase(25);
  EXPECT_FALSE(nccl_shape(c).rings[0].whole);
  c.ring_hops[0][25] = 26;
  c.ring_hops[0][31] = 0;
  shape = nccl_shape(c);
  EXPECT_TRUE(shape.rings[0].whole);
  EXPECT_EQ(shape.rings[0].order.size(), 32U);
}

TEST(NcclShape, WhatIsNoRingIsCounted) {
  LoggedCommunicator c{.ranks = 4};
  c.rings = {{0, "0 1 1 2"}, {1, "0 1 2 4"}, {2, "0 1 2x"}};
  c.ring_hops = {{3, {{0, 1}, {1, 0}}}, {4, {{0, 1}, {2, 1}}}, {5, {{1, 2}, {2, 3}}}};
  const NcclShape shape = nccl_shape(c);
  EXPECT_EQ(shape.unclear_rings, 5U);
  ASSERT_EQ(shape.rings.size(), 1U);  // channel 5: from rank 1 on
  EXPECT_EQ(shape.rings[0].order, (Ranks{1, 2, 3}));
  EXPECT_FALSE(shape.rings[0].whole);
}

LoggedCommunicator with_trees(const std::vector<std::string>& trees, int ranks) {
  LoggedCommunicator c{.ranks = ranks};
  for (std::size_t i = 0; i < trees.size(); ++i)
    c.members.push_back({.rank = static_cast<int>(i), .trees = trees[i]});
  return c;
}

TEST(NcclShape, TheLinesOfAllRanksMakeATree) {
  const NcclShape shape = nccl_shape(
      with_trees({"[0] 1/2/-1->0->-1 [1] -1/-1/-1->0->1", "[0] -1/-1/-1->1->0 [1] 0/2/-1->1->-1",
                  "[0] -1/-1/-1->2->0 [1] -1/-1/-1->2->1"},
                 3));
  ASSERT_EQ(shape.trees.size(), 2U);
  EXPECT_TRUE(shape.trees[0].whole);
  EXPECT_EQ(shape.trees[0].ranks[0], (NcclTreeRank{.rank = 0, .up = -1, .down = {1, 2}}));
  EXPECT_EQ(shape.trees[0].ranks[2], (NcclTreeRank{.rank = 2, .up = 0}));
  EXPECT_EQ(shape.trees[1].ranks[1], (NcclTreeRank{.rank = 1, .up = -1, .down = {0, 2}}));
  EXPECT_EQ(shape.trees[1].channels, Ranks{1});
}

TEST(NcclShape, EveryVersionsWayToWriteATree) {
  for (const std::vector<std::string>& trees :
       {std::vector<std::string>{"[0] 1/-1/-1->0->-1", "[0] -1/-1/-1->1->0"},
        {"[0] -1->0->1/-1/-1", "[0] 0->1->-1/-1/-1"},
        {"[0] 1/-1/-1->0->-1|-1->0->1/-1/-1", "[0] -1/-1/-1->1->0|0->1->-1/-1/-1"}}) {
    const NcclShape shape = nccl_shape(with_trees(trees, 2));
    ASSERT_EQ(shape.trees.size(), 1U) << trees[0];
    EXPECT_TRUE(shape.trees[0].whole);
    EXPECT_EQ(shape.trees[0].ranks[0].down, Ranks{1});
    EXPECT_EQ(shape.trees[0].ranks[1].up, 0);
  }
}

TEST(NcclShape, OneRanksLineIsAPartOfATree) {
  const NcclShape shape = nccl_shape(with_trees({"[0] 1/4/-1->0->-1 [1] 1/4/-1->0->-1"}, 8));
  ASSERT_EQ(shape.trees.size(), 1U);
  EXPECT_FALSE(shape.trees[0].whole);
  EXPECT_EQ(shape.trees[0].channels, (Ranks{0, 1}));
}

TEST(NcclShape, RanksThatContradictEachOtherAreCounted) {
  const NcclShape shape = nccl_shape(with_trees(
      {"[0] 2/-1/-1->0->-1 [1] 1/-1/-1->0->-1 [2] x", "[0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0"}, 3));
  EXPECT_EQ(shape.unclear_trees, 2U);  // channels 0 and 2
  ASSERT_EQ(shape.trees.size(), 1U);
  EXPECT_EQ(shape.trees[0].channels, Ranks{1});
}

TEST(NcclShape, ACircleIsNoTree) {
  const NcclShape shape =
      nccl_shape(with_trees({"[0] 1/-1/-1->0->1", "[0] 0/-1/-1->1->0", "[0] -1/-1/-1->2->-1"}, 3));
  ASSERT_EQ(shape.trees.size(), 1U);
  EXPECT_FALSE(shape.trees[0].whole);
}

}  // namespace
}  // namespace stepscope
