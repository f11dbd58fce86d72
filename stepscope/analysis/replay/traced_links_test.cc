// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/traced_links.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/analysis/runs/replayed_test_job.h"

namespace stepscope {
namespace {

// A message of each size in turn takes 50 µs and 1 µs for each KB.
std::vector<TestRank> ranks_with(std::span<const std::int64_t> sizes) {
  std::vector<ReducingStep> steps;
  for (std::size_t s = 0; s < 8; ++s) {
    const std::int64_t bytes = sizes[s % sizes.size()];
    steps.push_back(
        {.work = {100 * us, 100 * us}, .transfer = (50 + bytes / 1000) * us, .bytes = bytes});
  }
  return reducing_ranks(steps);
}

struct Linked : ReplayedTestJob {
  explicit Linked(std::span<const std::int64_t> sizes) : ReplayedTestJob(ranks_with(sizes)) {}
  [[nodiscard]] const CollectiveCall& call(std::size_t i) const {
    return collectives.matches.ranks[0].calls[i];
  }
};

// A tree of 8 has three times the rounds of one of 2, and 7/4 of the bytes leave a rank.
TEST(TracedLinks, ScaleLatencyWithRoundsAndTheRestWithBytes) {
  const std::array<std::int64_t, 2> sizes = {100'000, 400'000};
  const Linked job(sizes);
  const WhatIfInputs in = job.inputs();
  TracedLinks links(in, 0);
  const double latency = 50.0 / 150;
  EXPECT_NEAR(links.factor(job.call(0), 2, 8, 1), latency * 3 + (1 - latency) * 7 / 4, 1e-3);
  EXPECT_NEAR(links.factor(job.call(0), 2, 2, 2), latency + (1 - latency) * 2, 1e-3);
  const double of_larger = 50.0 / 450;
  EXPECT_NEAR(links.factor(job.call(1), 2, 8, 1), of_larger * 3 + (1 - of_larger) * 7 / 4, 1e-3);
  EXPECT_FALSE(links.one_size());
}

TEST(TracedLinks, SayThatOneSizeTellsNoLatency) {
  const std::array<std::int64_t, 1> sizes = {100'000};
  const Linked job(sizes);
  const WhatIfInputs in = job.inputs();
  TracedLinks links(in, 0.1);
  EXPECT_NEAR(links.factor(job.call(0), 2, 8, 1), 0.1 * 3 + 0.9 * 7 / 4, 1e-9);
  EXPECT_TRUE(links.one_size());
}

}  // namespace
}  // namespace stepscope
