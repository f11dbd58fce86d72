// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/loose_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

// Four ranks in two rows of two: {0, 1} and {2, 3} reduce activations, {0, 2} and {1, 3} reduce
// gradients, all of one size. Threads 20 and 21 work for the first, 10 and 11 for the second.
// `apart`: how much later each row and column begins its calls.
struct Mesh {
  std::int64_t steps = 4;
  std::int64_t row_apart = 3 * ms;
  std::int64_t column_apart = 2 * ms;
  bool listed = true;
  bool worlds_too = true;  // the job's group is listed, too
};

void list_groups(GlooRank& rank, int r, const Mesh& mesh) {
  if (mesh.worlds_too) rank.group("0", "default_pg", {0, 1, 2, 3});
  rank.group(r % 2 == 0 ? "1" : "2", "mesh_dp", {r % 2, r % 2 + 2});
  rank.group(r < 2 ? "3" : "4", "mesh_tp", {r / 2 * 2, r / 2 * 2 + 1});
}

std::vector<GlooRank> mesh_ranks(const Mesh& mesh) {
  std::vector<GlooRank> ranks(4);
  for (int r = 0; r < 4; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    if (mesh.listed) list_groups(rank, r, mesh);
    std::int64_t at = ms;
    for (std::int64_t s = 0; s < mesh.steps; ++s) {
      for (int k = 0; k < 6; ++k, at += 10 * ms) {
        const std::int64_t end = at + ms + r / 2 * mesh.row_apart;
        rank.call({.asked = at,
                   .worker = 20 + k % 2,
                   .start = end - ms + r * 1000,
                   .end = end + r * 2000});
      }
      const std::int64_t end = at + ms + r % 2 * mesh.column_apart;
      rank.call(
          {.asked = at, .worker = 10 + s % 2, .start = end - ms + r * 1000, .end = end + r * 2000});
      at += 20 * ms;
    }
  }
  return ranks;
}

// Label of the group → calls of all ranks in it.
std::map<std::string, int> counted(const CollectiveMatches& matches) {
  std::map<std::string, int> calls;
  for (const RankCalls& rank : matches.ranks)
    for (const CollectiveCall& call : rank.calls)
      ++calls[call.group == no_row ? "none" : matches.groups[call.group].description];
  return calls;
}

TEST(LooseGroups, ThreadsOrderAndTimesTellTheGroupsOfAMesh) {
  const TestJob job = gloo_job(mesh_ranks({}));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(counted(found), (std::map<std::string, int>{{"mesh_dp", 16}, {"mesh_tp", 96}}));
  EXPECT_TRUE(found.unsure.empty());
  EXPECT_EQ(found.matched.size(), 56U);
  EXPECT_TRUE(std::ranges::all_of(found.matched, &MatchedCollective::complete));
}

TEST(LooseGroups, CallsOfAllRanksBelongToTheGroupOfAll) {
  std::vector<GlooRank> ranks(4);
  for (int r = 0; r < 4; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    list_groups(rank, r, {});
    for (int k = 0; k < 12; ++k)
      rank.call({.asked = k * 10 * ms,
                 .worker = 10 + k % 2,
                 .start = (k * 10 + r) * ms + 5,
                 .end = (k * 10 + 5) * ms + r * 1000});
  }
  const TestJob job = gloo_job(std::move(ranks));
  EXPECT_EQ(counted(match_collectives(job.views())),
            (std::map<std::string, int>{{"default_pg", 48}}));
}

TEST(LooseGroups, GroupsThatFitAlikeAreSaidAndNotMatched) {
  const Mesh mesh{.row_apart = 0, .column_apart = 0, .worlds_too = false};
  std::vector<GlooRank> ranks(4);
  for (int r = 0; r < 4; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    list_groups(rank, r, mesh);
    for (int k = 0; k < 12; ++k)  // all together, so either group may be meant
      rank.call({.asked = k * 10 * ms,
                 .worker = 10 + k % 2,
                 .start = k * 10 * ms + 5,
                 .end = (k * 10 + 5) * ms});
  }
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.unsure.size(), 4U);
  EXPECT_EQ(found.unsure[0].calls, 12U);
  EXPECT_TRUE(found.matched.empty());
}

TEST(LooseGroups, GroupsOfTheUserCountInAnyOrderWhereTheFileListsNone) {
  const TestJob job = gloo_job(mesh_ranks({.listed = false}));
  const auto group = [](std::string_view description, std::vector<int> ranks) {
    const auto size = static_cast<int>(ranks.size());
    return CommGroup{.name = std::string(description) + std::to_string(ranks.front()),
                     .description = std::string(description),
                     .ranks = std::move(ranks),
                     .size = size};
  };
  MatchOptions how;
  how.given = {group("tp", {0, 1}), group("tp", {2, 3}), group("dp", {0, 2}), group("dp", {1, 3})};
  const CollectiveMatches found = match_collectives(job.views(), how);
  EXPECT_EQ(counted(found), (std::map<std::string, int>{{"dp", 16}, {"tp", 96}}));
}

TEST(LooseGroups, AGatherGetsItsBytesWithItsGroup) {
  std::vector<GlooRank> ranks(2);
  for (int r = 0; r < 2; ++r) {
    GlooRank& rank = ranks[static_cast<std::size_t>(r)];
    rank.group("0", "default_pg", {0, 1}).group(r == 0 ? "1" : "2", "mesh_dp", {r});
    for (int k = 0; k < 4; ++k)
      rank.call({.kind = "all_gather",
                 .op = "_allgather_base_",
                 .elements = 16,
                 .asked = k * ms,
                 .start = k * ms + 10,
                 .end = k * ms + 5000 + r});
  }
  const TestJob job = gloo_job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 4U);
  EXPECT_EQ(found.call(found.members[0]).bytes, Bytes{2 * 16 * 4});
}

}  // namespace
}  // namespace stepscope
