// SPDX-License-Identifier: Apache-2.0
// The collectives of the statistics of ZeRO-3: efficiencies, groups, references.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/telemetry/straggler.h"
#include "engine/telemetry/zero3_performance_stats.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

Ns call_time{};
Ns call_clock() { return call_time; }

ReferenceRates link_of(std::string_view group, CollectiveKind kind, LinkReference link) {
  return {.collectives = {{.group = std::string(group), .kind = kind, .link = link}}};
}

class StatsOfCalls : public testing::Test {
 protected:
  void SetUp() override { call_time = 100s; }
};

TEST_F(StatsOfCalls, CommunicationEfficiencyIsAgainstTheMeasuredLink) {
  Zero3PerformanceStats stats(0, 2, call_clock);
  // 8 MB all-gathered by 2: 4 MB on the bus, in 10 ms with 6 ms of waiting for the peer.
  call_time += 10ms;
  ASSERT_TRUE(stats.record_communication(CollectiveKind::all_gather, 10ms, Bytes{8'000'000},
                                         {.waited_for_peers = 6ms}));
  EXPECT_FALSE(stats.communication_efficiency());  // no reference
  ASSERT_TRUE(stats.set_references(
      link_of("world", CollectiveKind::all_gather, {.start = Seconds{1e-3}, .rate = {2e9}})));
  // Reference 1 ms + 4 MB / (2 GB/s) = 3 ms; transferred in 4 ms; the call took 10.
  EXPECT_NEAR(*stats.communication_efficiency(), 0.75, 1e-12);
  const CommunicationStats comm = stats.communication_stats();
  EXPECT_NEAR(*comm.efficiency_with_waiting, 0.3, 1e-12);
  EXPECT_NEAR(*comm.kinds[0].busbw_gb_per_s, 1.0, 1e-12);
  // `communication_efficiency` in docs/reference/zero3-statistics.md has the rule.
  ASSERT_TRUE(
      stats.set_references(link_of("world", CollectiveKind::all_gather, {.rate = {0.5e9}})));
  EXPECT_NEAR(*stats.communication_efficiency(), 2.0, 1e-12);
}

TEST_F(StatsOfCalls, MergedArrivalsTellTheEfficiency) {
  Zero3PerformanceStats a(0, 2, call_clock);
  Zero3PerformanceStats b(1, 2, call_clock);
  ASSERT_TRUE(a.set_references(link_of("world", CollectiveKind::reduce_scatter, {.rate = {1e6}})));
  call_time += 1s;
  // 200 kB of f32, half of them on the bus: 100 ms by the link, from the second rank's call on.
  ASSERT_TRUE(a.record_gradient_sync(900ms, 50'000, 2));
  ASSERT_TRUE(b.record_gradient_sync(100ms, 50'000, 2));
  ASSERT_TRUE(a.end_step());
  ASSERT_TRUE(b.end_step());
  EXPECT_FALSE(a.communication_efficiency());
  ASSERT_TRUE(a.merge(b));
  EXPECT_NEAR(*a.communication_efficiency(), 1.0, 1e-12);
  EXPECT_EQ(a.communication_stats().kinds.at(0).calls.sum.peer_wait, 800ms);
}

TEST_F(StatsOfCalls, AGradientSyncBehindTheBackwardPassIsNoWait) {
  Zero3PerformanceStats stats(0, 2, call_clock);
  call_time += 1s;
  ASSERT_TRUE(stats.record_backward_pass(900ms, 10));
  ASSERT_TRUE(stats.record_gradient_sync(500ms, 1000, 2, ElementType::f32,
                                         CollectiveKind::reduce_scatter,
                                         {.stall = 100ms, .waited_for_peers = 200ms}));
  ASSERT_TRUE(stats.end_step());
  const StepRecord step = stats.window().ranks[0].steps.at(0);
  EXPECT_EQ(step.activity[slot(Activity::wait_reduce)], 100ms);
  const JobCollective calls = stats.communication_stats().kinds.at(0).calls;
  EXPECT_EQ(calls.purpose, CollectivePurpose::gradients);
  EXPECT_EQ(calls.sum.transfer, 300ms);
}

// Ranks 0 and 1 reduce among themselves a second before ranks 2 and 3 do.
TEST_F(StatsOfCalls, GroupsOfOneSizeAreToldApartByName) {
  const auto job = [](bool named) {
    std::vector<Zero3PerformanceStats> ranks;
    for (int r = 0; r < 4; ++r) ranks.emplace_back(r, 4, call_clock);
    for (int i = 0; i < 5; ++i) {
      for (std::size_t r = 0; r < 4; ++r) {
        if (r % 2 == 0) call_time += 1s;
        const std::string_view name = r < 2 ? "first" : "second";
        EXPECT_TRUE(ranks[r].record_communication(
            CollectiveKind::all_reduce, 100ms, Bytes{1000},
            {.group_size = 2, .group = named ? name : std::string_view()}));
      }
      for (Zero3PerformanceStats& rank : ranks) EXPECT_TRUE(rank.end_step());
    }
    for (std::size_t r = 1; r < 4; ++r) EXPECT_TRUE(ranks[0].merge(ranks[r]));
    return ranks[0];
  };
  const CommunicationStats named = job(true).communication_stats();
  ASSERT_EQ(named.kinds.size(), 2U);
  EXPECT_EQ(named.kinds[0].calls.group, (CollectiveGroup{"first", 2}));
  EXPECT_EQ(named.operations, 10U);
  EXPECT_TRUE(late_ranks(job(true).window()).empty());
  const Zero3PerformanceStats nameless = job(false);
  ASSERT_EQ(nameless.communication_stats().kinds.size(), 1U);
  EXPECT_EQ(nameless.communication_stats().operations, 10U);
  EXPECT_TRUE(late_ranks(nameless.window()).empty()) << "nothing tells whose group a call was in";
}

// The first stage of a pipeline sends twice, the second receives once and sends nothing: the
// numbers of their collectives must not follow from their messages.
TEST_F(StatsOfCalls, MessagesDoNotNumberCollectives) {
  Zero3PerformanceStats a(0, 2, call_clock);
  Zero3PerformanceStats b(1, 2, call_clock);
  const auto step = [](Zero3PerformanceStats& rank, int messages, Ns reduced) {
    for (int i = 0; i < messages; ++i)
      EXPECT_TRUE(rank.record_communication(CollectiveKind::send, 1ms, Bytes{8}));
    EXPECT_TRUE(rank.record_gradient_sync(reduced, 1000, 2));
    EXPECT_TRUE(rank.end_step());
  };
  for (int i = 0; i < 2; ++i) {
    call_time += 1s;
    step(a, 2, 900ms);
    step(b, 1, 100ms);
  }
  ASSERT_TRUE(a.merge(b));
  ASSERT_EQ(matched_arrivals(a.window()).size(), 2U);
  const CommunicationStats stats = a.communication_stats();
  ASSERT_EQ(stats.kinds.size(), 2U);
  EXPECT_EQ(stats.kinds[0].calls.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(stats.kinds[0].calls.sum.peer_wait, 1600ms);
  EXPECT_EQ(stats.kinds[0].calls.sum.transfer, 400ms);
  EXPECT_EQ(stats.kinds[1].calls.unique, 6U);  // messages: calls of both sides
  EXPECT_EQ(stats.kinds[1].calls.sum.timed_calls, 0U);
}

TEST_F(StatsOfCalls, ReferencesThatAreNoRatesAreRefused) {
  Zero3PerformanceStats stats(0, 2, call_clock);
  const auto link = [&](LinkReference reference) {
    return stats.set_references(link_of("world", CollectiveKind::all_reduce, reference));
  };
  EXPECT_FALSE(link({.rate = {0}}));
  EXPECT_FALSE(link({.rate = {-5}}));
  EXPECT_FALSE(link({.start = Seconds{-1}, .rate = {1e9}}));
  EXPECT_FALSE(stats.set_references({.peak = FlopRate{0}}));
  ReferenceRates transfers;
  transfers.transfers[0] = LinkReference{};
  EXPECT_EQ(stats.set_references(transfers).error().message(),
            "the rate of a direction's link cannot be 0.000000; give a measured rate above 0");
  EXPECT_TRUE(link({.rate = {1e9}}));
}

TEST_F(StatsOfCalls, AReferenceOfAnUnknownGroupIsRefused) {
  Zero3PerformanceStats stats(0, 4, call_clock);
  const auto of = [&](const char* group) {
    return stats.set_references(link_of(group, CollectiveKind::all_gather, {.rate = {1e9}}));
  };
  EXPECT_TRUE(of("world"));
  EXPECT_TRUE(of("group of 2"));
  EXPECT_FALSE(of("node"));
  ASSERT_TRUE(stats.record_communication(CollectiveKind::all_gather, 1s, Bytes{1},
                                         {.group_size = 2, .group = "node"}));
  EXPECT_TRUE(of("node"));
  for (const char* unknown : {"wrold", "group of 8", ""}) {
    const auto refused = of(unknown);
    ASSERT_FALSE(refused) << unknown;
    EXPECT_NE(refused.error().message().find("\"world\""), std::string::npos);
  }
}

}  // namespace
}  // namespace stepscope
