// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/clock_alignment.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "stepscope/analysis/matching/clock_fit.h"
#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/runs/job_test_builder.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

struct Planted {
  double offset_ns = 0;
  double drift = 0;
  std::string host{};
};

struct Plan {
  int collectives = 60;
  double noise_ns = 2000;
  std::int64_t transfer_ns = 40'000;
  double outliers = 0;  // share of ends that are 5 ms late
  bool halves = false;  // clocks are off by the planted offset in the first half only
  std::int64_t interval = 20'000'000;
  double jitter = 0.5;  // of the interval
};

constexpr std::int64_t origin = 1'700'000'000'000'000'000;

// All ranks meet in all-reduces. Each rank arrives at its own time. Clocks count from the middle.
std::vector<TestRank> ranks_of(const std::vector<Planted>& clocks, const Plan& plan) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<TestRank> ranks(clocks.size());
  std::string members = "[0";
  for (std::size_t r = 1; r < clocks.size(); ++r) members += ", " + std::to_string(r);
  members += "]";
  const std::int64_t middle = origin + plan.interval * plan.collectives / 2;
  std::int64_t at = origin;
  for (int c = 0; c < plan.collectives; ++c) {
    at += static_cast<std::int64_t>(static_cast<double>(plan.interval) *
                                    (1 - plan.jitter + plan.jitter * uniform(random)));
    for (std::size_t r = 0; r < clocks.size(); ++r) {
      const auto seen = [&](double t) {
        const double since = t - static_cast<double>(middle - origin);
        const double offset = plan.halves && c * 2 >= plan.collectives ? 0 : clocks[r].offset_ns;
        return origin + std::llround(t + offset + clocks[r].drift * since);
      };
      const double arrival = static_cast<double>(at - origin) - 1e6 * uniform(random);
      double end =
          static_cast<double>(at - origin + plan.transfer_ns) + plan.noise_ns * normal(random);
      if (uniform(random) < plan.outliers) end += 5e6;
      ranks[r].all_reduce(seen(arrival), seen(end),
                          {.ranks = members, .size = static_cast<int>(clocks.size())});
    }
  }
  for (std::size_t r = 0; r < clocks.size(); ++r)
    if (!clocks[r].host.empty()) ranks[r].built().metadata.texts["host_name"] = clocks[r].host;
  return ranks;
}

ClockAlignment aligned(const std::vector<Planted>& clocks, const Plan& plan = {}) {
  const TestJob job(ranks_of(clocks, plan));
  return align_clocks(job.views(), match_collectives(job.views()));
}

double error_us(const ClockAlignment& found, std::size_t host, double planted_ns) {
  return (static_cast<double>(found.hosts[host].offset.value().count()) - planted_ns) / 1000;
}

TEST(ClockAlignment, FindsPlantedOffsetsWithinAMicrosecond) {
  const std::vector<Planted> clocks = {{}, {250e3}, {-1.5e6}, {80e3}};
  const ClockAlignment found = aligned(clocks);
  ASSERT_TRUE(found.applied) << say(found.reason);
  ASSERT_EQ(found.hosts.size(), 4U);
  EXPECT_EQ(found.collectives, 60U);
  EXPECT_EQ(found.hosts[0].offset, Ns{0});
  for (std::size_t h = 0; h < clocks.size(); ++h) {
    EXPECT_LT(std::abs(error_us(found, h, clocks[h].offset_ns)), 1.0) << h;
    // The scatter plus a quarter of the shortest calls: 40 us plus the lead of the last rank.
    EXPECT_LT(found.hosts[h].uncertainty.value(), Ns{20'000});
    EXPECT_EQ(found.hosts[h].uncertainty.value() > Ns{10'000}, h > 0);
    EXPECT_EQ(found.hosts[h].drift_ppm, 0);
  }
  EXPECT_GT(found.spread.value(), Ns{1'500'000});
  EXPECT_LT(found.spread_aligned.value(), Ns{10'000});
}

TEST(ClockAlignment, FindsDriftOverALongWindow) {
  const std::vector<Planted> clocks = {{}, {300e3, 30e-6}, {-100e3, -12e-6}};
  const ClockAlignment found = aligned(clocks, {.collectives = 200, .interval = 100'000'000});
  ASSERT_TRUE(found.applied) << say(found.reason);
  EXPECT_NEAR(found.hosts[1].drift_ppm, 30, 0.2);
  EXPECT_NEAR(found.hosts[2].drift_ppm, -12, 0.2);
  EXPECT_NEAR(found.by_view[1].drift, 30e-6, 0.2e-6);
}

TEST(ClockAlignment, HoldsOutliersDown) {
  const ClockAlignment found =
      aligned({{}, {250e3}, {-90e3}}, {.collectives = 80, .outliers = 0.15});
  ASSERT_TRUE(found.applied) << say(found.reason);
  EXPECT_LT(std::abs(error_us(found, 1, 250e3)), 2.0);
  EXPECT_LT(std::abs(error_us(found, 2, -90e3)), 2.0);
}

TEST(ClockAlignment, RanksOfOneHostShareAnOffset) {
  const ClockAlignment found =
      aligned({{0, 0, "a"}, {0, 0, "a"}, {400e3, 0, "b"}, {400e3, 0, "b"}});
  ASSERT_TRUE(found.applied) << say(found.reason);
  ASSERT_EQ(found.hosts.size(), 2U);
  EXPECT_EQ(found.hosts[1].host, "b");
  EXPECT_EQ(found.hosts[1].ranks, (std::vector<int>{2, 3}));
  EXPECT_LT(std::abs(error_us(found, 1, 400e3)), 1.0);
  EXPECT_EQ(found.by_view[2].offset, found.by_view[3].offset);
}

// Processes of a host convert the instants of their devices on their own.
TEST(ClockAlignment, DevicesOfOneHostMayBeApart) {
  const ClockAlignment found = aligned({{0, 0, "a"}, {400e3, 0, "a"}});
  ASSERT_TRUE(found.applied) << say(found.reason);
  ASSERT_EQ(found.hosts.size(), 2U);
  EXPECT_LT(std::abs(error_us(found, 1, 400e3)), 1.0);
}

// One rank of a busy host leaves every collective late, because it is not scheduled at once. Its
// host rows are still of the host's clock.
TEST(ClockAlignment, HostThreadsOfOneHostShareItsClock) {
  std::vector<TestRank> ranks(2);
  for (std::int64_t c = 0; c < 60; ++c)
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const std::int64_t at = origin + 20'000'000 * c;
      const SliceId row = ranks[r].op_with_inputs(Category::cpu_op, "record_param_comms",
                                                  at + 10'000 * ((c + std::ssize(ranks)) % 7),
                                                  at + 500'000 + (r == 1 ? 2'000'000 : 0), "", "");
      ranks[r].annotate(row, {.name = "allreduce", .seq = c});
    }
  for (TestRank& rank : ranks) rank.built().metadata.texts["host_name"] = "a";
  const TestJob job(std::move(ranks));
  const CollectiveMatches matches = match_collectives(job.views());
  ASSERT_EQ(matches.matched.size(), 60U);
  EXPECT_FALSE(align_clocks(job.views(), matches).applied);
}

TEST(ClockAlignment, ClocksFurtherApartThanTheWindowAreRecognisedByTheirPattern) {
  for (const double offset : {12e6, 700e6, 90e9, -3600e9}) {
    const ClockAlignment found = aligned({{}, {offset}});
    ASSERT_TRUE(found.applied) << offset << ": " << say(found.reason);
    EXPECT_EQ(found.collectives, 60U);
    EXPECT_LT(std::abs(error_us(found, 1, offset)), 1.0) << offset;
  }
}

TEST(ClockAlignment, EqualIntervalsTellNoPattern) {
  const ClockAlignment found = aligned({{}, {90e9}}, {.jitter = 0});
  EXPECT_FALSE(found.applied);
  EXPECT_EQ(found.collectives, 0U);
  EXPECT_NE(say(found.reason).find("no collective"), std::string::npos);
}

TEST(ClockAlignment, GoodClocksStayAsTheyAre) {
  const ClockAlignment found = aligned({{}, {}, {}, {}});
  EXPECT_FALSE(found.applied);
  for (const ClockCorrection& c : found.by_view) EXPECT_TRUE(c.is_identity());
  EXPECT_EQ(say(aligned({{}, {}}, {.noise_ns = 0}).reason).find("second half differ"),
            std::string::npos);
  ASSERT_TRUE(found.hosts[1].uncertainty);
  EXPECT_LT(*found.hosts[1].uncertainty, Ns{21'000});
}

TEST(ClockAlignment, WhatMayBeTheOrderOfLeavingIsNoOffset) {
  const ClockAlignment found = aligned({{}, {6e3}}, {.noise_ns = 500, .transfer_ns = 40'000});
  EXPECT_FALSE(found.applied);
  EXPECT_NE(say(found.reason).find("order of leaving"), std::string::npos) << say(found.reason);
  EXPECT_NEAR(static_cast<double>(found.hosts[1].offset.value().count()), 6e3, 500);
}

TEST(ClockAlignment, OffsetsThatDoNotLastAreNotApplied) {
  const ClockAlignment found = aligned({{}, {200e3}}, {.halves = true});
  EXPECT_FALSE(found.applied);
  EXPECT_NE(say(found.reason).find("differ"), std::string::npos) << say(found.reason);
  EXPECT_GE(found.hosts[1].uncertainty.value(), Ns{90'000});
}

TEST(ClockAlignment, FewCollectivesAreSaid) {
  const ClockAlignment one = aligned({{}, {200e3}}, {.collectives = 1});
  EXPECT_FALSE(one.applied);
  EXPECT_EQ(say(one.reason), "1 collectives join the clock of rank 0 to others, 8 are needed");
  EXPECT_FALSE(aligned({{}, {200e3}}, {.collectives = 7}).applied);
  EXPECT_TRUE(aligned({{}, {200e3}}, {.collectives = 8}).applied);
}

TEST(ClockAlignment, OneRankAndOneHostNeedNone) {
  EXPECT_EQ(aligned({{}}).reason, msg::clock_of_one_rank());
  EXPECT_EQ(aligned({{0, 0, "a"}, {0, 0, "a"}}).reason, msg::clock_of_one_host());
  const TestJob none;
  EXPECT_FALSE(align_clocks(none.views(), match_collectives(none.views())).applied);
}

TEST(ClockAlignment, RelativeClocksAreNotAligned) {
  std::vector<TestRank> ranks = ranks_of({{}, {200e3}}, {});
  for (TestRank& r : ranks) r.built().metadata.clock = Clock::relative;
  const TestJob job(std::move(ranks));
  EXPECT_EQ(align_clocks(job.views(), match_collectives(job.views())).reason,
            msg::clocks_relative());
}

TEST(ClockAlignment, WindowsOfDifferentStepsAreNotJoined) {
  std::vector<TestRank> early = ranks_of({{}, {}}, {});
  std::vector<TestRank> late =
      ranks_of({{}, {}}, {.collectives = 61, .noise_ns = 3000, .jitter = 0.4});
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(early[0]));
  ranks.push_back(std::move(late[1]));
  const TestJob job(std::move(ranks));
  const CollectiveMatches matches = match_collectives(job.views());
  EXPECT_TRUE(matches.coarse[1].is_identity());
  EXPECT_FALSE(align_clocks(job.views(), matches).applied);
}

// A receive ends before its send starts under any offset: the ends show 200 us, and the messages in
// both directions make that impossible.
TEST(ClockAlignment, BoundsThatContradictEachOtherAreSaid) {
  std::vector<TestRank> ranks = ranks_of({{}, {200e3}}, {});
  const auto send = [&](std::size_t from, std::size_t to, std::int64_t start, std::int64_t end) {
    const TestMeta meta{
        .ranks = "[0, 1]", .src = static_cast<int>(from), .dst = static_cast<int>(to)};
    TestMeta sending = meta;
    sending.name = "send";
    TestMeta receiving = meta;
    receiving.name = "recv";
    ranks[from].comm(send_recv_kernel, start, start + 90'000'000, sending);
    ranks[to].comm(send_recv_kernel, end - 50'000'000, end, receiving);
  };
  send(0, 1, origin + 100'000'000, origin + 95'000'000);
  send(1, 0, origin + 300'000'000, origin + 295'000'000);
  const TestJob job(std::move(ranks));
  const CollectiveMatches matches = match_collectives(job.views());
  const ClockAlignment found = align_clocks(job.views(), matches);
  EXPECT_FALSE(found.applied);
  EXPECT_NE(say(found.reason).find("contradicts"), std::string::npos) << say(found.reason);
}

// The analysis of a job with planted offsets equals the analysis of the job without them.
TEST(ClockAlignment, TheJobIsOnOneTimeAxis) {
  const auto run = [](double offset) {
    std::vector<TestRank> built = ranks_of({{}, {offset}}, {.noise_ns = 300});
    std::vector<Trace> traces;
    std::vector<RankInput> inputs;
    traces.reserve(2);
    for (std::size_t r = 0; r < 2; ++r) {
      built[r].built().metadata.world_size = 2;
      traces.push_back(built[r].rows().sealed());
      inputs.push_back({static_cast<int>(r), &traces.back()});
    }
    JobResult job = analyze_job(inputs);
    const Ns first = std::min(traces[0].slices.start.front(), traces[1].slices.start.front());
    return std::tuple(job.collectives.rows.at(0).wait, job.steps.summary->mean, job.clocks.applied,
                      first, job.clocks.origin);
  };
  const auto [wait, step, applied, first, begin] = run(0);
  EXPECT_FALSE(applied);
  for (const double offset : {150e3, 45e6, 20e9}) {
    const auto [shifted_wait, shifted_step, shifted, shifted_first, shifted_begin] = run(offset);
    EXPECT_TRUE(shifted) << offset;
    EXPECT_NEAR(static_cast<double>(shifted_wait->count()), static_cast<double>(wait->count()),
                60 * 300);
    EXPECT_NEAR(shifted_step, step, 1000);
    EXPECT_EQ(shifted_first, shifted_begin);
    EXPECT_LT(std::abs((shifted_first - first).count()), 1000);
  }
}

TEST(HostClock, IsToldByTheTraceElseByTheHandlersFileName) {
  const auto host = [](const std::string& path, std::optional<int> world = std::nullopt) {
    Metadata m;
    m.path = path;
    m.world_size = world;
    return host_of(m);
  };
  EXPECT_EQ(host("dir/node-7.local_4711.1698957822175570404.pt.trace.json.gz"), "node-7.local");
  EXPECT_EQ(host("9c44bd29b3f0_1375.1724066820235157909.pt.trace.json", 2), "9c44bd29b3f0");
  EXPECT_EQ(host("worker_3.1698957822175570404.pt.trace.json", 8), "");
  EXPECT_EQ(host("worker7_step_12.1694128201553.pt.trace.json", 8), "");
  EXPECT_EQ(host("worker0.1623143089861.pt.trace.json"), "");
  EXPECT_EQ(host("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"), "");
  EXPECT_EQ(host("trace.json"), "");
  Metadata said;
  said.path = "a_4711.1.pt.trace.json";
  said.texts["host_name"] = "b";
  EXPECT_EQ(host_of(said), "b");
}

TEST(ClockFit, BoundsMoveOffsetsNoFurtherThanTheyMust) {
  ClockFit fit;
  fit.offset_ns = {0, 100, -40};
  fit.drift = {0, 0, 0};
  fit.part = {0, 0, 0};
  const std::array met = {ClockBound{1, 0, Ns{120}}, ClockBound{0, 1, Ns{-50}}};
  ASSERT_TRUE(satisfy_bounds(met, fit));
  EXPECT_EQ(fit.offset_ns[1], 100);
  const std::array tight = {ClockBound{1, 0, Ns{60}}, ClockBound{0, 1, Ns{-50}}};
  ASSERT_TRUE(satisfy_bounds(tight, fit));
  EXPECT_NEAR(fit.offset_ns[1], 60, 1);
  const std::array circle = {ClockBound{1, 0, Ns{60}}, ClockBound{0, 2, Ns{-50}},
                             ClockBound{2, 1, Ns{-20}}};
  EXPECT_FALSE(satisfy_bounds(circle, fit));
}

// 64 clocks joined only in a chain of pairs.
TEST(ClockFit, ReachesClocksOverChainsOfGroups) {
  constexpr std::uint32_t clocks = 64;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  SharedEnds data{.shared = {}, .ends = {}, .clocks = clocks};
  for (int c = 0; c < 40; ++c)
    for (std::uint32_t h = 0; h + 1 < clocks; ++h) {
      data.shared.push_back({static_cast<std::uint32_t>(data.ends.size()), 2, Ns{1000}});
      const double at = 1e7 * c + 1e5 * h;
      for (const std::uint32_t clock : {h, h + 1})
        data.ends.push_back({clock, Ns{std::llround(at + 5e3 * clock + 200 * normal(random))}});
    }
  const ClockFit fit = fit_clocks(data, 0, data.shared.size(), false);
  for (std::uint32_t h = 0; h < clocks; ++h) EXPECT_NEAR(fit.offset_ns[h], 5e3 * h, 1000) << h;
}

}  // namespace
}  // namespace stepscope
