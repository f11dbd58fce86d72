// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/collective_gates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/analysis/matching/gloo_test_builder.h"

namespace stepscope {
namespace {

// "0 2 < 2": member 2 waits for 0 and 2.
std::vector<std::string> written(const TestJob& job, const CollectiveMatches& found) {
  std::vector<std::string> lines;
  for (CollectiveGate gate : gates_of(job.views(), found, found.matched.at(0))) {
    std::string line;
    std::ranges::sort(gate.awaited);
    for (const std::uint32_t i : gate.awaited) line += std::to_string(i) + ' ';
    line += '<';
    for (const std::uint32_t i : gate.waiting) line += ' ' + std::to_string(i);
    lines.push_back(line + (gate.buffered ? " buffered" : ""));
  }
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::string> of_gloo(std::string_view kind, std::string_view op,
                                 std::string_view concrete, int size) {
  std::vector<GlooRank> ranks(static_cast<std::size_t>(size));
  std::vector<int> all;
  for (int r = 0; r < size; ++r) all.push_back(r);
  for (GlooRank& rank : ranks) {
    rank.group("0", "default_pg", all);
    rank.call({.kind = kind, .op = op, .start = 5, .end = 50, .concrete = concrete});
  }
  const TestJob job = gloo_job(std::move(ranks));
  return written(job, match_collectives(job.views()));
}

TEST(CollectiveGates, GlooBroadcastsAlongABinomialTreeFromItsRoot) {
  // From root 2 of six: places 0 … 5 are ranks 2 3 4 5 0 1. Place 0 sends to 1, 2 and 4, place 1 to
  // 3 and 5.
  EXPECT_EQ(of_gloo("broadcast", "broadcast_", R"(["","","2"])", 6),
            (std::vector<std::string>{"0 2 3 4 < 2", "0 2 < 0", "1 2 3 5 < 3", "1 2 3 < 1",
                                      "2 3 5 < 5", "2 4 < 4"}));
}

TEST(CollectiveGates, TheRootOfGloosScatterAndGatherWaitsForAll) {
  const std::vector<std::string> star = {"0 1 2 < 1", "1 < 0 2"};
  EXPECT_EQ(of_gloo("scatter", "scatter_", R"(["","","","1"])", 3), star);
  EXPECT_EQ(of_gloo("gather", "gather_", R"(["","","","1"])", 3), star);
}

TEST(CollectiveGates, AllWaitForAllAndRootedKindsForTheirRoot) {
  const auto of_kernel = [](std::string_view kernel, std::string_view name, int root) {
    std::vector<TestRank> ranks(3);
    for (TestRank& rank : ranks)
      rank.comm(kernel, 0, 100,
                {.name = name, .ranks = "[0, 1, 2]", .size = 3, .seq = 1, .rank = root});
    const TestJob job(std::move(ranks));
    return written(job, match_collectives(job.views()));
  };
  EXPECT_EQ(of_kernel(all_reduce_kernel, "allreduce", -1),
            std::vector<std::string>{"0 1 2 < 0 1 2"});
  EXPECT_EQ(of_kernel(broadcast_kernel, "broadcast", 1), std::vector<std::string>{"1 < 0 2"});
  EXPECT_EQ(of_kernel("ncclDevKernel_Reduce_Sum_f32_RING_LL()", "reduce", 1),
            (std::vector<std::string>{"0 1 2 < 1", "1 < 0 2 buffered"}));
}

}  // namespace
}  // namespace stepscope
