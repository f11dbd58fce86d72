// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/collective_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/analysis/matching/gloo_test_builder.h"
#include "stepscope/analysis/runs/job_test_builder.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using Kind = CollectiveKind;

TEST(CollectiveMatch, JoinsByNumberWithinTheGroup) {
  std::vector<TestRank> ranks(2);
  ranks[0].all_reduce(0, 100, {.seq = 7});
  ranks[0].all_reduce(200, 300, {.seq = 8});
  ranks[1].all_reduce(50, 100, {.seq = 7});
  ranks[1].all_reduce(210, 300, {.seq = 8});
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_TRUE(found.clocks_comparable);
  ASSERT_EQ(found.matched.size(), 2U);
  EXPECT_EQ(found.matched[0].ordinal, 7);
  EXPECT_TRUE(found.matched[0].complete);
  EXPECT_EQ(found.members_of(found.matched[0]).size(), 2U);
  EXPECT_TRUE(found.mismatches.empty());
}

TEST(CollectiveMatch, WithoutNumbersACaptureThatBeganLateIsRealignedAndSaid) {
  std::vector<TestRank> ranks(2);
  for (int i = 0; i < 10; ++i) {
    ranks[0].all_reduce(100 * i, 100 * i + 90);
    if (i >= 3) ranks[1].all_reduce(100 * i + 40, 100 * i + 90);
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(found.matched.size(), 7U);
  for (const MatchedCollective& matched : found.matched) {
    const auto members = found.members_of(matched);
    ASSERT_EQ(members.size(), 2U);
    EXPECT_EQ(found.call(members[0]).end, found.call(members[1]).end);
  }
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_EQ(found.mismatches[0].ranks, std::vector<int>{1});
  EXPECT_NE(say(found.mismatches[0].what).find("the first 3"), std::string::npos);
}

TEST(CollectiveMatch, ReportsAContradictionInsteadOfMatchingIt) {
  std::vector<TestRank> ranks(3);
  for (std::size_t r = 0; r < 3; ++r) {
    TestMeta meta{.ranks = "[0, 1, 2]", .size = 3};
    for (int i = 0; i < 5; ++i) {
      meta.elements = r == 1 && i == 2 ? 999 : 1000;
      ranks[r].all_reduce(100 * i + static_cast<std::int64_t>(r), 100 * i + 90, meta);
    }
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(found.matched.size(), 4U);
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_EQ(found.mismatches[0].ordinal, 2);
  EXPECT_EQ(found.mismatches[0].ranks, std::vector<int>{1});
  EXPECT_EQ(say(found.mismatches[0].what), "count differs between the ranks");
}

TEST(CollectiveMatch, ACollectiveThatOneRankLacksInTheMiddleIsReported) {
  std::vector<TestRank> ranks(2);
  for (int i = 0; i < 4; ++i) {
    ranks[0].all_reduce(100 * i, 100 * i + 90, {.seq = i});
    if (i != 2) ranks[1].all_reduce(100 * i, 100 * i + 90, {.seq = i});
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(found.matched.size(), 3U);
  ASSERT_EQ(found.mismatches.size(), 1U);
  EXPECT_EQ(found.mismatches[0].ordinal, 2);
  EXPECT_EQ(say(found.mismatches[0].what), "missing on this rank");
}

TEST(CollectiveMatch, NothingIsMatchedOnRelativeClocks) {
  std::vector<TestRank> ranks;
  ranks.emplace_back(Clock::relative);
  ranks.emplace_back(Clock::unix_epoch);
  for (TestRank& rank : ranks) rank.all_reduce(0, 100, {.seq = 1});
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_FALSE(found.clocks_comparable);
  EXPECT_TRUE(found.matched.empty());
  EXPECT_EQ(found.ranks[0].calls.size(), 1U);
}

TEST(CollectiveMatch, NothingIsMatchedBetweenWindowsThatDoNotOverlap) {
  std::vector<TestRank> ranks(2);
  ranks[0].all_reduce(0, 100, {.seq = 1});
  ranks[1].all_reduce(1000, 1100, {.seq = 1});
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_FALSE(found.clocks_comparable);
  EXPECT_TRUE(found.matched.empty());
}

TEST(CollectiveMatch, AGroupWithAMissingRankIsMatchedButNotComplete) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) rank.all_reduce(0, 100, {.ranks = "[0, 1, 2]", .size = 3, .seq = 1});
  const TestJob job(std::move(ranks), 3);
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 1U);
  EXPECT_FALSE(found.matched[0].complete);
}

TEST(CollectiveMatch, GroupsOfOneNameOverOtherRanksAreNotMixed) {
  std::vector<TestRank> ranks(4);
  for (std::size_t r = 0; r < 4; ++r) {
    const bool low = r < 2;
    ranks[r].all_reduce(low ? 0 : 10, low ? 100 : 80,
                        {.group = "11", .ranks = low ? "[0, 1]" : "[2, 3]", .seq = 1});
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 2U);
  EXPECT_NE(found.matched[0].group, found.matched[1].group);
  EXPECT_TRUE(found.matched[0].complete);
  EXPECT_TRUE(found.matched[1].complete);
}

TEST(CollectiveMatch, SendsMeetTheirReceivesInOrder) {
  std::vector<TestRank> ranks(2);
  for (int i = 0; i < 3; ++i) {
    ranks[0].comm(send_recv_kernel, 100 * i, 100 * i + 50, {.name = "send", .dst = 1});
    ranks[1].comm(send_recv_kernel, 100 * i + 30, 100 * i + 51, {.name = "recv", .src = 0});
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 3U);
  for (const MatchedCollective& matched : found.matched) {
    EXPECT_TRUE(matched.message);
    EXPECT_TRUE(matched.complete);
    const auto members = found.members_of(matched);
    EXPECT_EQ(found.call(members[1]).start - found.call(members[0]).start, Ns{30});
  }
}

TEST(CollectiveMatch, KernelsWithoutMetadataAreMatchedByTheirStreams) {
  std::vector<TestRank> ranks(4);
  for (std::size_t r = 0; r < 4; ++r) {
    const auto late = static_cast<std::int64_t>(r);
    for (int i = 0; i < 8; ++i) {
      const std::string_view kernel = i % 3 == 0 ? all_gather_kernel : all_reduce_kernel;
      ranks[r].comm(kernel, 1'000'000 * i + 10 * late, 1'000'000 * i + 900'000, 0, 20);
      // Another communicator for each pair of ranks, at other times.
      const std::int64_t pair = r < 2 ? 0 : 500'000;
      ranks[r].comm(all_reduce_kernel, 1'000'000 * i + pair + late, 1'000'000 * i + pair + 300'000,
                    0, 24);
    }
  }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  std::size_t fours = 0;
  std::size_t pairs = 0;
  for (const MatchedCollective& matched : found.matched) {
    EXPECT_TRUE(matched.complete);
    ++(matched.count == 4 ? fours : pairs);
    if (matched.count == 2) {
      const auto members = found.members_of(matched);
      EXPECT_EQ(members[0].view / 2, members[1].view / 2);
    }
  }
  EXPECT_EQ(fours, 8U);
  EXPECT_EQ(pairs, 16U);
}

TEST(CollectiveMatch, WithoutMetadataAWorldThatIsNotAllTracedIsNeverComplete) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) rank.comm(all_reduce_kernel, 0, 100);
  const TestJob job(std::move(ranks), 8);
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 1U);
  EXPECT_FALSE(found.matched[0].complete);
}

TEST(CollectiveMatch, KernelsBeforeTheFirstRecordedNumberCountBack) {
  std::vector<TestRank> ranks(2);
  ranks[0].comm(all_reduce_kernel, 0, 100);
  ranks[0].all_reduce(200, 300, {.seq = 5});
  ranks[1].all_reduce(50, 100, {.seq = 4});
  ranks[1].all_reduce(250, 300, {.seq = 5});
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  ASSERT_EQ(found.matched.size(), 2U);
  EXPECT_EQ(found.matched[0].ordinal, 4);
  // The other rank's record holds for both.
  EXPECT_EQ(found.call(found.members_of(found.matched[0])[0]).bytes, Bytes{4000});
}

// Launched as A, B on both ranks, on two streams of the group; on the second rank B begins first.
TEST(CollectiveMatch, CallsOfOneGroupOnTwoStreamsKeepTheOrderOfTheirLaunch) {
  std::vector<TestRank> ranks(2);
  for (std::size_t r = 0; r < 2; ++r)
    for (int i = 0; i < 4; ++i) {
      const std::int64_t at = 10000 * i;
      const auto id = static_cast<std::uint32_t>(2 * i + 1);
      ranks[r].rows().launch(id, at, at + 5);
      ranks[r].rows().launch(id + 1, at + 10, at + 15);
      const std::int64_t first = at + (r == 0 ? 100 : 300);
      ranks[r].annotate(ranks[r].comm(all_gather_kernel, first, at + 900, id, 20),
                        {.name = "_allgather_base", .out = 2000});
      ranks[r].annotate(ranks[r].comm(all_reduce_kernel, at + 200, at + 1000, id + 1, 21),
                        {.name = "allreduce"});
    }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_EQ(found.matched.size(), 8U);
  EXPECT_TRUE(found.mismatches.empty());
}

// Some writers record the rank's own number with every call.
TEST(CollectiveMatch, DifferentRootsOfOneBroadcastAreNone) {
  for (const bool own : {true, false}) {
    std::vector<TestRank> ranks(2);
    for (int r = 0; r < 2; ++r)
      ranks[static_cast<std::size_t>(r)].comm(broadcast_kernel, 100 + r, 200,
                                              {.name = "broadcast", .rank = own ? r : 1});
    const TestJob job(std::move(ranks));
    const CollectiveMatches found = match_collectives(job.views());
    ASSERT_EQ(found.matched.size(), 1U);
    for (const CollectiveMember m : found.members_of(found.matched[0]))
      EXPECT_EQ(found.call(m).root, own ? -1 : 1);
  }
}

// Short calls on clocks 2 ms apart do not run together, and the pattern of a step repeats: without
// the numbers of the steps, the captures would be a step apart.
TEST(CollectiveMatch, NumbersOfStepsPlaceCapturesThatBeginAndEndElsewhere) {
  constexpr std::int64_t ms = 1'000'000;
  std::vector<TestRank> ranks(2);
  for (std::size_t r = 0; r < 2; ++r)
    for (int step = 0; step < 7; ++step) {
      if (step == (r == 0 ? 6 : 0)) continue;
      const std::int64_t begin = 50 * ms * step + (r == 0 ? 0 : 2 * ms);
      ranks[r].rows().step("ProfilerStep#" + std::to_string(step), begin, begin + 50 * ms - 1);
      for (int k = 0; k < 90; ++k) {
        const std::int64_t at = begin + (k * k % 97 + 50 * k) * 10'000;
        const auto id = static_cast<std::uint32_t>(100 * step + k + 1);
        ranks[r].rows().launch(id, at, at + 1000);
        ranks[r].annotate(ranks[r].comm(all_reduce_kernel, at + 2000, at + 12'000, id),
                          {.name = "allreduce"});
      }
    }
  const TestJob job(std::move(ranks));
  const CollectiveMatches found = match_collectives(job.views());
  EXPECT_TRUE(found.coarse[1].is_identity());
  EXPECT_EQ(found.matched.size(), 5U * 90);
  for (const MatchedCollective& m : found.matched) {
    const auto members = found.members_of(m);
    EXPECT_EQ(found.call(members[1]).end - found.call(members[0]).end, Ns{2 * ms});
  }
}

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
