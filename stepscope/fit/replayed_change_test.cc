// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/replayed_change.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/replayed_test_job.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

constexpr std::int64_t work_ns = 1000 * us;
constexpr std::int64_t message_bytes = 64'000'000;

// Two ranks of one node that reduce a message in each of six steps.
struct Recorded : ReplayedTestJob {
  JobShape shape{.dp = 2, .micro_batches = 1};

  explicit Recorded(std::int64_t transfer)
      : ReplayedTestJob(reducing_ranks(std::vector<ReducingStep>(
            6, {.work = {work_ns, work_ns}, .transfer = transfer, .bytes = message_bytes}))) {}
  [[nodiscard]] ReplayedChange with(const ProjectionQuestion& question) const {
    auto change = replay_change(inputs(), shape, question);
    EXPECT_TRUE(change) << change.error().what;
    return *change;
  }
};

Network links_of_h100() { return *make_network(*machine_named("h100_sxm_80gb")); }

double time_on(const Network& network, int ranks) {
  return collective_time(network, CollectiveKind::all_reduce, Bytes{message_bytes},
                         *place(ranks, 1, network))
      .count();
}
std::int64_t in_ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

TEST(ReplayedChange, MessagesScaleWithTheLinks) {
  const Network links = links_of_h100();
  const double two = time_on(links, 2);
  const Recorded job(in_ns(two));
  ProjectionQuestion q{.shape = job.shape, .recorded = &links, .asked = &links};
  q.shape.dp = 8;
  const ReplayedChange change = job.with(q);
  EXPECT_TRUE(change.links_of_machine);
  EXPECT_NEAR(change.ranks, change.recorded, 1e-9) << "equal ranks wait for nobody";
  EXPECT_NEAR(change.transfers - change.recorded, time_on(links, 8) - two, 1e-8);
  EXPECT_NEAR(change.beside_unknown, 0, 1e-9);
}

// The messages took ten times what their links need, so most of the time is not that of the links.
// It passed during the links' time, or it did not; the answer is in the middle.
TEST(ReplayedChange, WhatDisturbsMessagesStays) {
  const Network links = links_of_h100();
  const double two = time_on(links, 2);
  const double eight = time_on(links, 8);
  ASSERT_LT(eight, 10 * two);
  const Recorded job(in_ns(10 * two));
  ProjectionQuestion q{.shape = job.shape, .recorded = &links, .asked = &links};
  q.shape.dp = 8;
  const ReplayedChange change = job.with(q);
  EXPECT_NEAR(change.transfers - change.recorded, (eight - two) / 2, 1e-8);
  EXPECT_NEAR(change.beside_unknown, eight - two, 1e-8);
}

// Work and host of the pass are there three times, its reduction once.
TEST(ReplayedChange, MicroBatchesRepeatPasses) {
  const Recorded job(100 * us);
  ProjectionQuestion q{.shape = job.shape};
  q.shape.micro_batches = 3;
  const ReplayedChange change = job.with(q);
  ASSERT_TRUE(change.passes_replayed);
  EXPECT_NEAR(change.passes - change.recorded, 2e-9 * work_ns, 1e-7);
}

TEST(ReplayedChange, NothingAskedChangesNothing) {
  const Recorded job(100 * us);
  const ReplayedChange change = job.with({.shape = job.shape});
  EXPECT_EQ(change.transfers, change.recorded);
  EXPECT_EQ(change.kernels, change.recorded);
  EXPECT_EQ(change.passes, change.recorded);
}

}  // namespace
}  // namespace stepscope
