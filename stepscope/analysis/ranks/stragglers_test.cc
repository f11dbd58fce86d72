// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/stragglers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::string_view four = "[0, 1, 2, 3]";

// Steps of 100 ms with one all-reduce each, which every rank reaches after `work` ms of compute.
// The late rank reaches it 40 ms later; `spend` fills these.
template <class Spend>
TestJob job_of(std::size_t late_rank, int late_steps, Spend&& spend) {
  std::vector<TestRank> ranks(4);
  for (std::size_t r = 0; r < 4; ++r) {
    TestRank& rank = ranks[r];
    for (int n = 0; n < 4; ++n) {
      const std::int64_t t = 100 * ms * n;
      const auto id = static_cast<std::uint32_t>(10 * n + 1);
      rank.rows().step("ProfilerStep#" + std::to_string(n), t, t + 100 * ms);
      rank.rows().op("aten::mm", t, t + 2 * ms);
      rank.rows().launch(id, t, t + ms);
      rank.rows().kernel("gemm", t + ms, t + 20 * ms, id);
      const bool late = r == late_rank && n < late_steps;
      const std::int64_t arrival = late ? t + 60 * ms : t + 20 * ms;
      if (late) spend(rank, t);
      rank.rows().launch(id + 1, arrival - ms, arrival - ms / 2);
      rank.annotate(rank.comm(all_reduce_kernel, arrival, t + 70 * ms, id + 1),
                    {.name = "allreduce", .ranks = four, .size = 4, .seq = n});
    }
  }
  return TestJob(std::move(ranks));
}

std::vector<Straggler> stragglers_of(const TestJob& job, const StragglerOptions& options = {}) {
  return find_stragglers(job.views(), analyze_collectives(job.views()), options);
}

TEST(Stragglers, TheRankThatArrivesLateIsNamedWithItsHostGap) {
  const auto found = stragglers_of(job_of(2, 4, [](TestRank& rank, std::int64_t t) {
    rank.rows().op("aten::item", t + 58 * ms, t + 59 * ms);
  }));
  ASSERT_EQ(found.size(), 1U);
  const Straggler& rank = found[0];
  EXPECT_EQ(rank.rank, 2);
  EXPECT_EQ(rank.role, "all");
  EXPECT_EQ(rank.late, Ns{160 * ms});
  EXPECT_EQ(rank.upper_bound, Ns{40 * ms});
  EXPECT_EQ(rank.last_count, 4U);
  EXPECT_EQ(rank.collectives, 4U);
  EXPECT_DOUBLE_EQ(rank.persistence, 1.0);
  EXPECT_TRUE(rank.significant);
  ASSERT_EQ(rank.steps.size(), 4U);
  EXPECT_EQ(rank.steps[3].index, 3);
  EXPECT_EQ(rank.steps[3].late, Ns{40 * ms});
  ASSERT_TRUE(rank.cause);
  EXPECT_EQ(rank.cause->doing, LateDoing::host_gap);
  EXPECT_TRUE(rank.cause->what.starts_with("between ")) << rank.cause->what;
  EXPECT_TRUE(rank.cause->what.ends_with("aten::item")) << rank.cause->what;
  EXPECT_EQ(rank.cause->in_steps, 4U);
  EXPECT_EQ(rank.cause->steps, 4U);
  EXPECT_EQ(rank.cause->waiting, (std::vector{0, 1, 3}));
  EXPECT_EQ(rank.cause->wait, Ns{40 * ms});
  EXPECT_EQ(rank.cause->collectives, std::vector{CollectiveKind::all_reduce});
}

TEST(Stragglers, ARankThatComputesLongerIsToldFromOneThatIdles) {
  const auto found = stragglers_of(job_of(1, 4, [](TestRank& rank, std::int64_t t) {
    rank.rows().kernel("slow_gemm", t + 20 * ms, t + 60 * ms);
  }));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  ASSERT_TRUE(found[0].cause);
  EXPECT_EQ(found[0].cause->doing, LateDoing::more_compute);
  EXPECT_EQ(found[0].cause->amount, Ns{40 * ms});
  EXPECT_EQ(found[0].cause->peer, 2);
  EXPECT_EQ(found[0].cause->what, "slow_gemm");
}

TEST(Stragglers, ASingleLateStepIsListedButNotSignificant) {
  const auto found = stragglers_of(job_of(3, 1, [](TestRank&, std::int64_t) {}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 3);
  EXPECT_DOUBLE_EQ(found[0].persistence, 0.25);
  EXPECT_FALSE(found[0].significant);
  EXPECT_FALSE(found[0].cause);
}

TEST(Stragglers, TheFloorsAreTheUsersToSet) {
  const TestJob job = job_of(2, 4, [](TestRank&, std::int64_t) {});
  const auto found = stragglers_of(job, {.sizes = {}, .limits = {.least_share = 0.5}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].significant);
}

TEST(Stragglers, RanksOfDifferentRolesAreNotCompared) {
  const TestJob job = job_of(2, 4, [](TestRank&, std::int64_t) {});
  const auto found = stragglers_of(job, {.sizes = {.tp = {}, .pp = 4, .dp = {}}});
  EXPECT_TRUE(found.empty());
}

// Two ranks; in step n rank 1 comes `leads[n]` ms after rank 0, or before it.
TestJob two_ranks(std::span<const int> leads) {
  std::vector<TestRank> ranks(2);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t n = 0; n < leads.size(); ++n) {
      const std::int64_t t = 100 * ms * static_cast<std::int64_t>(n);
      const auto id = static_cast<std::uint32_t>(10 * n + 1);
      const std::int64_t late = r == 1 ? std::max(0, leads[n]) : std::max(0, -leads[n]);
      ranks[r].rows().step("ProfilerStep#" + std::to_string(n), t, t + 100 * ms);
      ranks[r].rows().op("aten::mm", t, t + 2 * ms);
      ranks[r].rows().launch(id, t, t + ms);
      ranks[r].annotate(
          ranks[r].comm(all_reduce_kernel, t + 20 * ms + late * ms, t + 80 * ms, id),
          {.name = "allreduce", .ranks = "[0, 1]", .size = 2, .seq = static_cast<std::int64_t>(n)});
    }
  return TestJob(std::move(ranks));
}

bool names_rank(std::span<const int> leads, int rank) {
  return std::ranges::any_of(stragglers_of(two_ranks(leads)),
                             [&](const Straggler& s) { return s.rank == rank && s.significant; });
}

TEST(Stragglers, OfTwoRanksOneIsLateInMostStepsByChance) {
  // Late in eight of ten steps by 9 ms on average, but early in the other two by similar times.
  EXPECT_FALSE(names_rank(std::array{2, 30, 1, 25, -20, 3, 45, 2, -30, 32}, 1));
  EXPECT_TRUE(names_rank(std::array{22, 30, 21, 25, 20, 23, 35, 22, 30, 32}, 1));
  EXPECT_TRUE(names_rank(std::array{-22, -30, -21, -25, -20, -23, -35, -22, -30, -32}, 0));
  // Three steps that vary as much as they differ show nothing.
  EXPECT_FALSE(names_rank(std::array{40, 12, 30}, 1));
  EXPECT_TRUE(names_rank(std::array{40, 35, 38}, 1));
}

TEST(Stragglers, EqualArrivalsMakeNone) {
  EXPECT_TRUE(stragglers_of(job_of(2, 0, [](TestRank&, std::int64_t) {})).empty());
}

TEST(Stragglers, LatenessWithinTheClocksUncertaintyMeansNothing) {
  std::vector<TestRank> ranks(2);
  for (int n = 0; n < 3; ++n) {
    ranks[0].all_reduce(1000 * n, 1000 * n + 500, {.seq = n});
    ranks[1].all_reduce(1000 * n + 40, 1000 * n + 560, {.seq = n});  // ends differ by 60
  }
  EXPECT_TRUE(stragglers_of(TestJob(std::move(ranks))).empty());
}

// One step, three all-reduces 30 ms apart that compute hides on rank 0; rank 1 starts 20 ms late.
TestJob hidden_delay(bool hidden) {
  std::vector<TestRank> ranks(2);
  for (std::size_t r = 0; r < 2; ++r) {
    TestRank& rank = ranks[r];
    const std::int64_t late = r == 1 ? 20 * ms : 0;
    rank.rows().step("ProfilerStep#0", 0, 150 * ms);
    rank.rows().op("aten::mm", 0, ms);
    rank.rows().launch(1, 0, ms);
    if (r == 1) {
      rank.rows().row(rank.rows().thread(1), Category::user_annotation,
                      "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 2 * ms,
                      22 * ms);
    }
    if (hidden) rank.rows().kernel("gemm", late + 2 * ms, 140 * ms, 1);
    for (std::uint32_t n = 0; n < 3; ++n) {
      const std::int64_t start = late + 30 * ms * (n + 1);
      rank.rows().launch(n + 2, start - ms, start - ms / 2);
      rank.annotate(rank.comm(all_reduce_kernel, start, 30 * ms * (n + 1) + 25 * ms, n + 2),
                    {.name = "allreduce", .size = 2, .seq = n});
    }
  }
  return TestJob(std::move(ranks));
}

TEST(Stragglers, ADelayThatComputeHidesShowsAtEveryCollectiveAndCountsOnce) {
  const auto found = stragglers_of(hidden_delay(true));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].late, Ns{60 * ms});
  EXPECT_EQ(found[0].upper_bound, Ns{20 * ms});
}

TEST(Stragglers, DelaysThatTheOthersWaitForCountEachTime) {
  const auto found = stragglers_of(hidden_delay(false));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].upper_bound, Ns{60 * ms});
}

// ZeRO-3 prefetches: both gathers start before the host waits for the first.
TEST(Stragglers, ADelayAtCollectivesInFlightTogetherCountsOnce) {
  std::vector<TestRank> ranks(2);
  for (std::size_t r = 0; r < 2; ++r) {
    TestRank& rank = ranks[r];
    const std::int64_t late = r == 1 ? 60 * ms : 0;
    rank.rows().step("ProfilerStep#0", 0, 150 * ms);
    rank.rows().op("aten::mm", 0, ms);
    rank.rows().launch(1, 0, ms);
    for (std::uint32_t n = 0; n < 3; ++n) {
      const std::int64_t start = n < 2 ? late + ms * (n + 1) : 80 * ms;
      const std::int64_t end = n < 2 ? 65 * ms : 85 * ms;
      rank.rows().launch(n + 2, start - ms, start - ms / 2);
      rank.annotate(rank.comm(all_reduce_kernel, start, end, n + 2, 20 + n),
                    {.name = "allreduce", .size = 2, .seq = n});
    }
  }
  const auto found = stragglers_of(TestJob(std::move(ranks)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].late, Ns{120 * ms});
  EXPECT_EQ(found[0].upper_bound, Ns{60 * ms});
}

// Two recordings of a step; that of rank 1 begins 40 ms later, and so do its kernel and all-reduce.
TEST(Stragglers, WhatARankDidBeforeItsFirstRowIsNoDelay) {
  for (const bool recorded : {false, true}) {
    std::vector<TestRank> ranks(2);
    for (std::size_t r = 0; r < 2; ++r) {
      TraceBuilder& rows = ranks[r].rows();
      const std::int64_t t = r == 1 ? 40 * ms : 0;
      rows.step("ProfilerStep#0", recorded ? 0 : t, 100 * ms);
      rows.op("aten::mm", t, t + 2 * ms);
      rows.launch(1, t, t + ms);
      rows.kernel("gemm", t + ms, t + 20 * ms, 1);
      rows.launch(2, t + ms, t + 2 * ms);
      ranks[r].annotate(ranks[r].comm(all_reduce_kernel, t + 20 * ms, 70 * ms, 2),
                        {.name = "allreduce", .size = 2, .seq = 0});
    }
    const auto found = stragglers_of(TestJob(std::move(ranks)));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, 1);
    EXPECT_EQ(found[0].late, Ns{40 * ms});
    // The step of rank 0 begins with its kernel, 1 ms after its first row.
    EXPECT_EQ(found[0].upper_bound, Ns{(recorded ? 40 : 1) * ms});
  }
}

TEST(Stragglers, ARankThatLoadsDataLongerIsSaidToDoSo) {
  const auto found = stragglers_of(hidden_delay(true));
  ASSERT_EQ(found.size(), 1U);
  ASSERT_TRUE(found[0].cause);
  EXPECT_EQ(found[0].cause->doing, LateDoing::more_loading);
  EXPECT_EQ(found[0].cause->amount, Ns{20 * ms});
}

// Steps of 100 ms on four ranks: an all-reduce of each tensor-parallel pair, [0, 1] and [2, 3],
// then one of each data-parallel pair, [0, 2] and [1, 3]. Rank 3 computes 30 ms longer; the
// all-reduce of [0, 1] transfers for `slow` ms more.
TestJob two_by_two(std::int64_t longer, std::int64_t slow) {
  std::vector<TestRank> ranks(4);
  for (std::size_t r = 0; r < 4; ++r)
    for (int n = 0; n < 4; ++n) {
      TestRank& rank = ranks[r];
      const std::int64_t t = 100 * ms * n;
      const auto id = static_cast<std::uint32_t>(10 * n + 1);
      rank.rows().step("ProfilerStep#" + std::to_string(n), t, t + 100 * ms);
      rank.rows().op("aten::mm", t, t + 2 * ms);
      for (std::uint32_t k = 0; k < 4; ++k)
        rank.rows().launch(id + k, t + k * ms / 2, t + k * ms / 2 + ms / 4);
      const std::int64_t arrival = t + 10 * ms + (r == 3 ? longer : 0);
      rank.rows().kernel("gemm", t + 3 * ms, arrival, id);
      const bool low = r < 2;
      const std::int64_t done = t + 12 * ms + (low ? slow : longer);
      rank.annotate(rank.comm(all_reduce_kernel, arrival, done, id + 1),
                    {.name = "allreduce",
                     .group = low ? "tp0" : "tp1",
                     .ranks = low ? "[0, 1]" : "[2, 3]",
                     .size = 2,
                     .seq = n,
                     .description = "tp"});
      rank.rows().kernel("gemm", done, done + 5 * ms, id + 2);
      const bool even = r % 2 == 0;
      rank.annotate(rank.comm(all_reduce_kernel, done + 5 * ms, t + 80 * ms, id + 3, 21),
                    {.name = "allreduce",
                     .group = even ? "dp0" : "dp1",
                     .ranks = even ? "[0, 2]" : "[1, 3]",
                     .size = 2,
                     .seq = n,
                     .description = "dp"});
    }
  return TestJob(std::move(ranks));
}

const Straggler& of_rank(const std::vector<Straggler>& all, int rank) {
  static const Straggler none;
  const auto at = std::ranges::find(all, rank, &Straggler::rank);
  return at == all.end() ? none : *at;
}

TEST(Stragglers, ARankThatWaitsForAnotherIsNotTheCause) {
  const auto found = stragglers_of(two_by_two(30 * ms, 0));
  const Straggler& slow = of_rank(found, 3);
  ASSERT_TRUE(slow.cause);
  EXPECT_EQ(slow.cause->doing, LateDoing::more_compute);
  EXPECT_EQ(slow.cause->amount, Ns{30 * ms});
  EXPECT_TRUE(delays_others(slow));
  const Straggler& victim = of_rank(found, 2);
  EXPECT_TRUE(victim.significant);
  ASSERT_TRUE(victim.cause);
  EXPECT_EQ(victim.cause->doing, LateDoing::waits_for);
  EXPECT_EQ(victim.cause->peer, 3);
  EXPECT_EQ(victim.cause->amount, Ns{30 * ms});
  EXPECT_TRUE(victim.cause->waiting.empty());
  EXPECT_FALSE(delays_others(victim));
}

TEST(Stragglers, ALongerTransferBeforeItMakesARankLate) {
  for (const int rank : {0, 1}) {
    const Straggler late = of_rank(stragglers_of(two_by_two(0, 20 * ms)), rank);
    ASSERT_TRUE(late.cause) << rank;
    EXPECT_EQ(late.cause->doing, LateDoing::longer_transfer);
    EXPECT_EQ(late.cause->amount, Ns{20 * ms});
    EXPECT_EQ(late.cause->what, "all_reduce");
  }
}

TEST(Stragglers, WhatExplainsLessThanHalfOfTheLatenessIsNoCause) {
  // The device works 5 of the 40 ms longer, and the rest of its work is launched but idles.
  const auto found = stragglers_of(job_of(1, 4, [](TestRank& rank, std::int64_t t) {
    rank.rows().launch(200 + static_cast<std::uint32_t>(t / ms), t + 2 * ms, t + 3 * ms);
    rank.rows().kernel("gemm", t + 55 * ms, t + 60 * ms, 200 + static_cast<std::uint32_t>(t / ms));
  }));
  ASSERT_EQ(found.size(), 1U);
  ASSERT_TRUE(found[0].cause);
  EXPECT_EQ(found[0].cause->doing, LateDoing::device_late);
  EXPECT_EQ(found[0].cause->amount, Ns{35 * ms});
}

}  // namespace

}  // namespace stepscope
