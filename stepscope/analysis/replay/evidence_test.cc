// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/evidence.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/graph/graph_test_builder.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

constexpr double in_ns = 1000;  // 1 µs

// What the two operators of a step take on a rank, in µs.
struct Operators {
  std::int64_t mm = 100;
  std::int64_t gelu = 50;
};

// Two ranks on CPUs that reduce after each of six steps. On rank 1 `mm` takes 40 µs more in each
// step, and `gelu` 300 µs more in the fourth.
std::vector<TestRank> ranks_with_a_slow_operator() {
  std::vector<TestRank> ranks;
  for (int r = 0; r < 2; ++r) {
    GlooRank rank;
    rank.group("0", "default_pg", {0, 1});
    for (int step = 0; step < 6; ++step) {
      const std::int64_t at = 2000 * us * step;
      Operators takes;
      if (r == 1) takes.mm += 40;
      if (r == 1 && step == 3) takes.gelu += 300;
      rank.rows().step("ProfilerStep#" + std::to_string(step), at, at + 1990 * us);
      rank.rows().op("aten::mm", at + 10 * us, at + (10 + takes.mm) * us);
      const std::int64_t second = at + (20 + takes.mm) * us;
      rank.rows().op("aten::gelu", second, second + takes.gelu * us);
      rank.call({.asked = second + (takes.gelu + 5) * us,
                 .start = second + (takes.gelu + 6) * us,
                 .end = at + 1000 * us});
    }
    ranks.push_back(std::move(rank.rank()));
  }
  return ranks;
}

RankParts parts_of_rank(std::size_t view) {
  const BuiltGraph b(ranks_with_a_slow_operator());
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

}  // namespace
}  // namespace stepscope
