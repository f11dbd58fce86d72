// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/message_time.h"

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
  explicit Linked(std::span<const std::int64_t> sizes) : Linked(ranks_with(sizes)) {}
  explicit Linked(std::vector<TestRank> ranks) : ReplayedTestJob(std::move(ranks)) {}
  [[nodiscard]] const CollectiveCall& call(std::size_t i) const {
    return collectives.matches.ranks[0].calls[i];
  }
};

// A tree of 8 has three times the rounds of one of 2, and 7/4 of the bytes leave a rank.
TEST(TracedLinks, ScaleLatencyWithRoundsAndTheRestWithBytes) {
  const std::array<std::int64_t, 2> sizes = {100'000, 400'000};
  const Linked job(sizes);
  const WhatIfInputs in = job.inputs();
  TracedLinks links(in, {});
  const double latency = 50.0 / 150;
  EXPECT_NEAR(links.factor(job.call(0), 2, 8, 1), latency * 3 + (1 - latency) * 7 / 4, 1e-3);
  EXPECT_NEAR(links.factor(job.call(0), 2, 2, 2), latency + (1 - latency) * 2, 1e-3);
  const double of_larger = 50.0 / 450;
  EXPECT_NEAR(links.factor(job.call(1), 2, 8, 1), of_larger * 3 + (1 - of_larger) * 7 / 4, 1e-3);
  EXPECT_FALSE(links.untold());
}

// The line through two sizes says 50 ms without bytes and 1 GB/s: no link has 50 MB in flight.
TEST(TracedLinks, BelieveNoLatencyThatNoLinkHas) {
  const std::array<std::int64_t, 2> sizes = {100'000'000, 200'000'000};
  std::vector<ReducingStep> steps;
  for (std::size_t s = 0; s < 8; ++s) {
    const std::int64_t bytes = sizes[s % 2];
    steps.push_back(
        {.work = {100 * us, 100 * us}, .transfer = (50'000 + bytes / 1000) * us, .bytes = bytes});
  }
  const Linked job(reducing_ranks(steps));
  const WhatIfInputs in = job.inputs();
  TracedLinks links(in, {});
  EXPECT_NEAR(links.factor(job.call(0), 2, 8, 1), 7.0 / 4, 1e-9);
  EXPECT_TRUE(links.untold());
}

TEST(TracedLinks, TakeTheLatencyOfKnownLinksWhereMessagesTellNone) {
  const std::array<std::int64_t, 1> sizes = {100'000};  // 150 us
  const Linked job(sizes);
  const WhatIfInputs in = job.inputs();
  const MessageModel known = [](const CollectiveMatches&, CollectiveKind, std::uint32_t, Bytes) {
    return std::optional(30e3);
  };
  TracedLinks links(in, {.links = &known, .share = 0.1});
  EXPECT_NEAR(links.factor(job.call(0), 2, 8, 1), 0.2 * 3 + 0.8 * 7 / 4, 1e-9);
  EXPECT_TRUE(links.by_known_links());
  EXPECT_FALSE(links.untold());
  TracedLinks twice(in, {.links = &known, .times = 2});
  EXPECT_NEAR(twice.factor(job.call(0), 2, 8, 1), 0.4 * 3 + 0.6 * 7 / 4, 1e-9);
}

TEST(TracedLinks, SayThatOneSizeTellsNoLatency) {
  const std::array<std::int64_t, 1> sizes = {100'000};
  const Linked job(sizes);
  const WhatIfInputs in = job.inputs();
  TracedLinks links(in, {.share = 0.1});
  EXPECT_NEAR(links.factor(job.call(0), 2, 8, 1), 0.1 * 3 + 0.9 * 7 / 4, 1e-9);
  EXPECT_TRUE(links.untold());
}

}  // namespace

}  // namespace stepscope
