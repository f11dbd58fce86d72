// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/roles.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

using Names = std::vector<std::string>;

Roles roles_of(const TestJob& job, const ParallelSizes& sizes = {}) {
  const CollectiveMatches matches = match_collectives(job.views());
  return find_roles(job.views(), matches, find_dimensions(job.views(), matches), sizes);
}

TEST(Roles, WithoutGroupsAndSizesAllRanksAreAlike) {
  const Roles roles = roles_of(TestJob(std::vector<TestRank>(3)));
  EXPECT_EQ(roles, (Names{"all", "all", "all"}));
}

TEST(Roles, TheUsersSizesFollowMegatronsOrder) {
  const Roles roles = roles_of(TestJob(std::vector<TestRank>(8)), {.tp = 2, .pp = 2, .dp = 2});
  EXPECT_EQ(roles, (Names{"tp0.pp0", "tp1.pp0", "tp0.pp0", "tp1.pp0", "tp0.pp1", "tp1.pp1",
                          "tp0.pp1", "tp1.pp1"}));
}

TEST(Roles, ATensorParallelPositionThatLeavesRanksAloneIsDropped) {
  const Roles roles = roles_of(TestJob(std::vector<TestRank>(4)), {.tp = 2, .pp = 2});
  EXPECT_EQ(roles, (Names{"pp0", "pp0", "pp1", "pp1"}));
}

TEST(Roles, ProcessGroupsTellPositionAndStage) {
  std::vector<TestRank> ranks(8);
  const std::vector<std::string_view> tp = {"[0, 1]", "[2, 3]", "[4, 5]", "[6, 7]"};
  const std::vector<std::string_view> pp = {"[0, 4]", "[1, 5]", "[2, 6]", "[3, 7]"};
  for (std::size_t r = 0; r < 8; ++r) {
    ranks[r].all_reduce(0, 10, {.group = "1", .ranks = tp[r / 2], .description = "mesh_tp"});
    ranks[r].all_reduce(20, 30, {.group = "2", .ranks = pp[r % 4], .description = "mesh_pp"});
  }
  const Roles roles = roles_of(TestJob(std::move(ranks)));
  EXPECT_EQ(roles[0], "tp0.pp0");
  EXPECT_EQ(roles[3], "tp1.pp0");
  EXPECT_EQ(roles[6], "tp0.pp1");
}

TEST(Roles, SizesMakeGroupsOnlyWhereTheyDivideTheWorld) {
  const auto ranks_of = [](const ParallelSizes& sizes, int world) {
    std::vector<std::string> lines;
    for (const CommGroup& group : groups_of_sizes(sizes, world)) {
      std::string& line = lines.emplace_back(group.description + ':');
      for (const int rank : group.ranks) line += ' ' + std::to_string(rank);
    }
    return lines;
  };
  EXPECT_EQ(ranks_of({.tp = 2}, 4),
            (Names{"world: 0 1 2 3", "tp: 0 1", "dp: 0 2", "dp: 1 3", "tp: 2 3"}));
  EXPECT_EQ(ranks_of({.pp = 2, .dp = 2}, 4),
            (Names{"world: 0 1 2 3", "dp: 0 1", "pp: 0 2", "pp: 1 3", "dp: 2 3"}));
  EXPECT_EQ(ranks_of({.tp = 2}, 2), (Names{"tp: 0 1"})) << "the world is that group";
  EXPECT_EQ(ranks_of({.dp = 2}, 2), (Names{"dp: 0 1"}));
  EXPECT_TRUE(ranks_of({.tp = 3}, 4).empty());
  EXPECT_TRUE(ranks_of({.tp = 2, .dp = 3}, 4).empty());
  EXPECT_TRUE(ranks_of({}, 4).empty());
}

TEST(Roles, TheWorldIsKnownFromSizesOnlyWithDataParallelism) {
  EXPECT_EQ((ParallelSizes{.tp = 2, .pp = 4, .dp = 3}.world_size()), 24);
  EXPECT_EQ((ParallelSizes{.tp = 2}.world_size()), std::nullopt);
}

}  // namespace
}  // namespace stepscope
