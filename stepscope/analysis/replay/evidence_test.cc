// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/evidence.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/graph/graph_test_builder.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

constexpr double in_ns = 1000;  // 1 µs

// What the two operators of a step, both aten::mm, take on a rank, in µs.
struct Operators {
  std::int64_t first = 100;
  std::int64_t second = 50;
  bool divided = false;  // a row of 1 µs lies within the first, 2 µs from its begin
};

// Two ranks on CPUs that reduce after each of six steps. On rank 1 the first takes 40 µs more in
// each step, and the second 300 µs more in the fourth. `divided`: the step in which the first of
// rank 1 is.
std::vector<TestRank> ranks_with_a_slow_operator(int divided = -1) {
  std::vector<TestRank> ranks;
  for (int r = 0; r < 2; ++r) {
    GlooRank rank;
    rank.group("0", "default_pg", {0, 1});
    for (int step = 0; step < 6; ++step) {
      const std::int64_t at = 2000 * us * step;
      Operators takes;
      if (r == 1) takes.first += 40;
      if (r == 1 && step == 3) takes.second += 300;
      takes.divided = r == 1 && step == divided;
      rank.rows().step("ProfilerStep#" + std::to_string(step), at, at + 1990 * us);
      rank.rows().op("aten::mm", at + 10 * us, at + (10 + takes.first) * us);
      if (takes.divided) rank.rows().op("aten::empty", at + 12 * us, at + 13 * us);
      const std::int64_t second = at + (20 + takes.first) * us;
      rank.rows().op("aten::mm", second, second + takes.second * us);
      rank.call({.asked = second + (takes.second + 5) * us,
                 .start = second + (takes.second + 6) * us,
                 .end = at + 1000 * us});
    }
    ranks.push_back(std::move(rank.rank()));
  }
  return ranks;
}

RankParts parts_of_rank(std::size_t view, int divided = -1) {
  const BuiltGraph b(ranks_with_a_slow_operator(divided));
  const std::vector<std::string> roles(2, "all");
  const PeerMedians medians = peer_medians(b.replay, b.job.views(), roles);
  return rank_parts({b.replay, b.job.views(), b.collectives, roles, medians}, {})[view];
}

TEST(Evidence, APieceCountsWithAtMostItsMedianOverTheSteps) {
  const PartTimes compute = parts_of_rank(1)[static_cast<std::size_t>(WorkPart::compute)];
  ASSERT_EQ(compute.own.size(), 6U);
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_NEAR(compute.usual[k], 190 * in_ns, 1) << k;
    EXPECT_NEAR(compute.own[k], (k == 3 ? 490 : 190) * in_ns, 1) << k;
    EXPECT_NEAR(compute.peers[k], 150 * in_ns, 1) << k;
  }
  EXPECT_EQ(compute.usual_excess(1), std::vector<double>(5, 40 * in_ns));
  EXPECT_EQ(compute.excess(3).front(), 340 * in_ns);
}

TEST(Evidence, TheFasterRankHasLess) {
  const PartTimes compute = parts_of_rank(0)[static_cast<std::size_t>(WorkPart::compute)];
  EXPECT_EQ(compute.usual_excess(0), std::vector<double>(6, -40 * in_ns));
}

// The longest part of a divided row is compared with the undivided rows of other steps and ranks.
TEST(Evidence, ARowThatAnotherOneDividesInSomeStepsIsTheSameWork) {
  for (const int divided : {0, 2, 4}) {
    const PartTimes compute =
        parts_of_rank(1, divided)[static_cast<std::size_t>(WorkPart::compute)];
    for (std::size_t k = 0; k < 6; ++k) {
      EXPECT_NEAR(compute.usual[k], 190 * in_ns, 3 * in_ns) << k << " of " << divided;
      EXPECT_NEAR(compute.peers[k], 150 * in_ns, 1) << k << " of " << divided;
    }
  }
}

}  // namespace
}  // namespace stepscope
