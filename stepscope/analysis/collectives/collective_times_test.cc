// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/collective_times.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/matching/gloo_test_builder.h"
#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

struct Timed {
  CollectiveMatches matches;
  CollectiveTimes times;

  explicit Timed(const TestJob& job)
      : matches(match_collectives(job.views())), times(collective_times(job.views(), matches)) {}
  [[nodiscard]] const CollectiveCall& call(std::size_t view, std::size_t c = 0) const {
    return matches.ranks[view].calls[c];
  }
  [[nodiscard]] const CallTime& time(std::size_t view, std::size_t c = 0) const {
    return times.by_view[view][c];
  }
  [[nodiscard]] Ns wait(std::size_t view, std::size_t c = 0) const {
    return wait_of(call(view, c), time(view, c));
  }
  [[nodiscard]] Ns transfer(std::size_t view, std::size_t c = 0) const {
    return transfer_of(call(view, c), time(view, c));
  }
};

TEST(CollectiveTimes, EveryRankWaitsForTheLastToArrive) {
  std::vector<TestRank> ranks(3);
  const TestMeta meta{.ranks = "[0, 1, 2]", .size = 3, .seq = 1};
  ranks[0].all_reduce(0, 1000, meta);
  ranks[1].all_reduce(700, 1004, meta);
  ranks[2].all_reduce(300, 1002, meta);
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_EQ(timed.wait(0), Ns{700});
  EXPECT_EQ(timed.wait(1), Ns{0});
  EXPECT_EQ(timed.wait(2), Ns{400});
  EXPECT_EQ(timed.transfer(0), Ns{300});
  EXPECT_EQ(timed.transfer(1), Ns{304});
  EXPECT_EQ(timed.times.clock_uncertainty, Ns{4});
}

TEST(CollectiveTimes, ABroadcastWaitsForItsRootOnly) {
  std::vector<TestRank> ranks(3);
  const TestMeta meta{.name = "broadcast", .ranks = "[0, 1, 2]", .size = 3, .seq = 1, .rank = 0};
  ranks[0].comm(broadcast_kernel, 200, 500, meta);
  ranks[1].comm(broadcast_kernel, 0, 510, meta);
  ranks[2].comm(broadcast_kernel, 400, 520, meta);  // later than the root
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_EQ(timed.wait(0), Ns{0});
  EXPECT_EQ(timed.wait(1), Ns{200});
  EXPECT_EQ(timed.wait(2), Ns{0});
  EXPECT_EQ(timed.transfer(0), Ns{300});
  EXPECT_EQ(timed.times.clock_uncertainty, std::nullopt);
}

TEST(CollectiveTimes, ABroadcastWithoutARecordedRootWaitsForTheLastToStart) {
  std::vector<TestRank> ranks(3);
  const TestMeta meta{.name = "broadcast", .ranks = "[0, 1, 2]", .size = 3, .seq = 1};
  ranks[0].comm(broadcast_kernel, 0, 500, meta);
  ranks[1].comm(broadcast_kernel, 400, 510, meta);
  ranks[2].comm(broadcast_kernel, 100, 520, meta);
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_EQ(timed.wait(0), Ns{400});
  EXPECT_EQ(timed.wait(1), Ns{0});
  EXPECT_EQ(timed.wait(2), Ns{300});
}

TEST(CollectiveTimes, ABroadcastThatSomeLeaveBeforeTheLastStartsHasNoKnownRoot) {
  std::vector<TestRank> ranks(3);
  const TestMeta meta{.name = "broadcast", .ranks = "[0, 1, 2]", .size = 3, .seq = 1};
  ranks[0].comm(broadcast_kernel, 0, 300, meta);
  ranks[1].comm(broadcast_kernel, 400, 510, meta);
  ranks[2].comm(broadcast_kernel, 100, 520, meta);
  const Timed timed{TestJob(std::move(ranks))};
  ASSERT_EQ(timed.matches.matched.size(), 1U);
  for (std::size_t view = 0; view < 3; ++view) EXPECT_FALSE(timed.time(view).split);
}

TEST(CollectiveTimes, TheRootOfAReduceWaitsForAllAndTheOthersForTheRoot) {
  std::vector<TestRank> ranks(3);
  const TestMeta meta{.name = "reduce", .ranks = "[0, 1, 2]", .size = 3, .seq = 1, .rank = 1};
  ranks[0].comm("ncclDevKernel_Reduce_Sum_f32()", 0, 900, meta);
  ranks[1].comm("ncclDevKernel_Reduce_Sum_f32()", 300, 900, meta);
  ranks[2].comm("ncclDevKernel_Reduce_Sum_f32()", 500, 900, meta);
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_EQ(timed.wait(0), Ns{300});
  EXPECT_EQ(timed.wait(1), Ns{200});
  EXPECT_EQ(timed.wait(2), Ns{0});
}

TEST(CollectiveTimes, ASendWaitsForItsReceive) {
  std::vector<TestRank> ranks(2);
  ranks[0].comm(send_recv_kernel, 0, 500, {.name = "send", .dst = 1});
  ranks[1].comm(send_recv_kernel, 450, 505, {.name = "recv", .src = 0});
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_EQ(timed.wait(0), Ns{450});
  EXPECT_EQ(timed.transfer(0), Ns{50});
  EXPECT_EQ(timed.wait(1), Ns{0});
}

TEST(CollectiveTimes, AMissingRankLeavesTheGroupUnsplit) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) rank.all_reduce(0, 100, {.ranks = "[0, 1, 2]", .size = 3, .seq = 1});
  const Timed timed{TestJob(std::move(ranks), 3)};
  EXPECT_FALSE(timed.time(0).split);
  EXPECT_EQ(timed.times.clock_uncertainty, std::nullopt);
}

TEST(CollectiveTimes, AGroupOfOneWaitsForNobody) {
  std::vector<TestRank> ranks(1);
  ranks[0].all_reduce(10, 100, {.ranks = "[0]", .size = 1});
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_TRUE(timed.time(0).split);
  EXPECT_EQ(timed.wait(0), Ns{0});
  EXPECT_EQ(timed.transfer(0), Ns{90});
}

TEST(CollectiveTimes, AnArrivalAfterTheEndNeverMakesANegativeTransfer) {
  std::vector<TestRank> ranks(2);
  ranks[0].all_reduce(0, 100, {.seq = 1});
  ranks[0].rows().kernel("gemm", 100, 200);
  ranks[1].all_reduce(130, 200, {.seq = 1});  // clocks differ
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_EQ(timed.wait(0), Ns{100});
  EXPECT_EQ(timed.transfer(0), Ns{0});
}

TEST(CollectiveTimes, ClocksFurtherApartThanACallIsLongDoNotSplitIt) {
  std::vector<TestRank> ranks(3);
  const TestMeta meta{.ranks = "[0, 1, 2]", .size = 3, .seq = 1};
  ranks[0].all_reduce(0, 100, meta);
  ranks[1].all_reduce(300, 400, meta);  // begins after rank 0 has left: an error of 200 or more
  ranks[2].all_reduce(50, 350, meta);
  ranks[0].all_reduce(1000, 1100, {.ranks = "[0, 1, 2]", .size = 3, .seq = 2});
  ranks[1].all_reduce(1040, 1100, {.ranks = "[0, 1, 2]", .size = 3, .seq = 2});
  ranks[2].all_reduce(1050, 1100, {.ranks = "[0, 1, 2]", .size = 3, .seq = 2});
  const Timed timed{TestJob(std::move(ranks))};
  EXPECT_FALSE(timed.time(0).split);
  EXPECT_FALSE(timed.time(1).split);
  EXPECT_TRUE(timed.time(2).split);
  EXPECT_EQ(timed.wait(2), Ns{250});
  EXPECT_TRUE(timed.time(0, 1).split);
  EXPECT_EQ(timed.wait(0, 1), Ns{50});
}

TEST(CollectiveTimes, TheBudgetGetsOneSpanForEachOperation) {
  std::vector<TestRank> ranks(2);
  ranks[0].all_reduce(0, 1000, {.seq = 1});
  ranks[0].all_reduce(2000, 2100, {.group = "9", .ranks = "[0, 5]", .seq = 3});
  ranks[1].all_reduce(600, 1000, {.seq = 1});
  const TestJob job(std::move(ranks), 6);
  const Timed timed{job};
  const CommSplit split = comm_split(timed.matches.ranks[0], timed.times.by_view[0]);
  ASSERT_EQ(split.spans.size(), 2U);
  const CommSpan* first = split.find(timed.call(0, 0).slice);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->split);
  EXPECT_EQ(first->transfer_start, Ns{600});
  const CommSpan* second = split.find(timed.call(0, 1).slice);
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(second->split);
}

// Rank 0 sends and goes on, rank 1 waits for each message, which takes 1 ms. In the last round rank
// 1 is late to collect it.
std::vector<GlooRank> rounds(std::int64_t count, std::int64_t late) {
  std::vector<GlooRank> ranks(2);
  for (GlooRank& rank : ranks) rank.group("0", "default_pg", {0, 1});
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = (k + 1) * 100 * ms;
    ranks[0].message({.peer = 1, .asked = at, .collected = at + 2 * ms});
    ranks[0].rows().op("aten::mm", at + 3, at + 2 * ms - 5);
    ranks[1].message({.sends = false,
                      .peer = 0,
                      .asked = at - 20 * ms,
                      .collected = at + ms + (k + 1 == count ? late : 0)});
  }
  return ranks;
}

Ns last_end(std::int64_t count) {
  const TestJob job = gloo_job(rounds(count, 30 * ms));
  const Collectives found = analyze_collectives(job.views());
  const CollectiveCall& call = found.matches.ranks[1].calls.back();
  const CallTime& time = found.times.by_view[1].back();
  EXPECT_TRUE(time.split);
  EXPECT_EQ(wait_of(call, time), Ns{20 * ms});
  return call.end;
}

TEST(MessageEnd, AMessageThatIsCollectedLateHadComeBefore) {
  EXPECT_EQ(last_end(20), Ns{20 * 100 * ms + ms});
}

TEST(MessageEnd, WhereNobodyWaitsTheShorterTimesTell) {
  std::vector<GlooRank> ranks(2);
  for (GlooRank& rank : ranks) rank.group("0", "default_pg", {0, 1});
  for (std::int64_t k = 0; k < 12; ++k) {
    const std::int64_t at = (k + 1) * 100 * ms;
    const std::int64_t busy = k % 2 == 0 ? 2 * ms : 40 * ms;  // until it collects the message
    for (int r = 0; r < 2; ++r) {
      GlooRank& rank = ranks[static_cast<std::size_t>(r)];
      rank.message({.sends = r == 0, .peer = 1 - r, .asked = at, .collected = at + busy + 10});
      rank.rows().op("aten::mm", at + 3, at + busy);
    }
  }
  const TestJob job = gloo_job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  EXPECT_EQ(found.matches.ranks[1].calls[1].end, Ns{200 * ms + 2 * ms + 10});
}

TEST(MessageEnd, WithFewMessagesTheRowsEndIsKept) {
  EXPECT_EQ(last_end(4), Ns{4 * 100 * ms + 31 * ms});
}

TEST(MessageEnd, AMessageBeginsWithItsOperator) {
  const TestJob job = gloo_job(rounds(1, 0));
  const RankCalls calls = find_collective_calls(job.views()[0]);
  EXPECT_EQ(calls.calls[0].start, Ns{100 * ms});
}

}  // namespace

}  // namespace stepscope
