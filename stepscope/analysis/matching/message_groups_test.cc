// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_groups.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

// Two pipelines of two stages, {0, 1} and {2, 3}, or {0, 2} and {1, 3}: four micro-batches forward,
// then four backward. Peers are numbers within the pipeline's group; -1: not recorded.
std::vector<GlooRank> pipelines(bool neighbours, bool numbered) {
  std::vector<GlooRank> ranks(4);
  for (int r = 0; r < 4; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    const std::vector<int> row = {r / 2 * 2, r / 2 * 2 + 1};
    const std::vector<int> column = {r % 2, r % 2 + 2};
    rank.group("0", "default_pg", {0, 1, 2, 3});
    rank.group("1", neighbours ? "mesh_pp" : "mesh_dp", row);
    rank.group("2", neighbours ? "mesh_dp" : "mesh_pp", column);
    const int stage = neighbours ? r % 2 : r / 2;
    const int peer = numbered ? 1 - stage : -1;
    const std::int64_t late = (neighbours ? r / 2 : r % 2) * 3 * ms;
    for (int m = 0; m < 4; ++m) {
      const std::int64_t at = (20 * m + 10) * ms + late;
      if (stage == 0)
        rank.message({.sends = true, .peer = peer, .asked = at, .collected = at + 2 * ms});
      else
        rank.message({.sends = false, .peer = peer, .asked = at - 8 * ms, .collected = at + ms});
    }
    for (int m = 0; m < 4; ++m) {
      const std::int64_t at = (20 * m + 110) * ms + late;
      if (stage == 1)
        rank.message({.sends = true, .peer = peer, .asked = at, .collected = at + 2 * ms});
      else
        rank.message({.sends = false, .peer = peer, .asked = at - 8 * ms, .collected = at + ms});
    }
  }
  return ranks;
}

void expect_pipelines(const CollectiveMatches& found, bool neighbours) {
  EXPECT_EQ(found.matched.size(), 16U) << neighbours;
  EXPECT_TRUE(found.unsure.empty());
  for (const MatchedCollective& matched : found.matched) {
    EXPECT_TRUE(matched.complete);
    EXPECT_EQ(found.groups[matched.group].description, "mesh_pp");
    const auto members = found.members_of(matched);
    const std::uint32_t apart = members[1].view - members[0].view;
    EXPECT_EQ(apart, neighbours ? 1U : 2U);
  }
}

TEST(MessageGroups, NumbersAreThoseOfTheGroupWhoseRanksAnswer) {
  for (const bool neighbours : {true, false}) {
    const TestJob job = gloo_job(pipelines(neighbours, true));
    expect_pipelines(match_collectives(job.views()), neighbours);
  }
}

TEST(MessageGroups, WithoutNumbersTheTimesTell) {
  for (const bool neighbours : {true, false}) {
    const TestJob job = gloo_job(pipelines(neighbours, false));
    expect_pipelines(match_collectives(job.views()), neighbours);
  }
}

TEST(MessageGroups, StagesOfALineAreFoundWithoutNumbers) {
  std::vector<GlooRank> ranks(3);
  for (int r = 0; r < 3; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    rank.group("0", "default_pg", {0, 1, 2});
    for (int m = 0; m < 3; ++m) {
      const std::int64_t at = (30 * m + 10 * r) * ms;  // its forward begins
      if (r > 0) rank.message({.sends = false, .asked = at - 2 * ms, .collected = at + 1000});
      if (r < 2) rank.message({.asked = at + 10 * ms, .collected = at + 11 * ms});
    }
    for (int m = 0; m < 3; ++m) {
      const std::int64_t at = (200 + 30 * m - 10 * r) * ms;
      if (r < 2) rank.message({.sends = false, .asked = at - 2 * ms, .collected = at + 1000});
      if (r > 0) rank.message({.asked = at + 10 * ms, .collected = at + 11 * ms});
    }
  }
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(found.matched.size(), 12U);
  EXPECT_TRUE(found.unsure.empty());
  for (const MatchedCollective& matched : found.matched) {
    const auto members = found.members_of(matched);
    EXPECT_EQ(members[1].view - members[0].view, 1U);
  }
}

TEST(MessageGroups, WhereNoGroupFitsThePeerStaysUnknown) {
  std::vector<GlooRank> ranks = pipelines(true, true);
  for (int k = 0; k < 9; ++k)  // nobody receives these
    ranks[0].message(
        {.peer = 1, .asked = (200 + k) * ms, .collected = (300 + k) * ms, .elements = 77});
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.unsure.size(), 1U);
  EXPECT_EQ(found.unsure[0].rank, 0);
  EXPECT_EQ(found.unsure[0].calls, 9U);
  EXPECT_EQ(found.matched.size(), 16U);
}

TEST(MessageGroups, MessagesOfTwoTagsKeepTheirOrderOnlyWithinEach) {
  std::vector<GlooRank> ranks(2);
  for (int k = 0; k < 4; ++k) {
    const std::int64_t at = 10 * k * ms;
    ranks[0].message({.peer = 1, .asked = at, .collected = at + 19 * ms, .tag = k % 2});
    // Tag 1 first.
    ranks[1].message(
        {.sends = false, .peer = 0, .asked = at + ms, .collected = at + 19 * ms, .tag = 1 - k % 2});
  }
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 4U);
  for (const MatchedCollective& matched : found.matched) {
    const auto members = found.members_of(matched);
    EXPECT_NE(members[0].call, members[1].call);
  }
}

}  // namespace
}  // namespace stepscope
