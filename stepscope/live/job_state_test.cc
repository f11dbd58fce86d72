// SPDX-License-Identifier: Apache-2.0
// Jobs with a known truth, in the words of sources.
#include "stepscope/live/job_state.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

struct Group {
  std::string id;
  std::vector<int> ranks;  // of the job
};

// Ranks compute, and meet in one collective after the other.
class ToldJob {
 public:
  ToldJob(int ranks, std::uint64_t seed)
      : random_(seed), clock_us_(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r)
      processes_.push_back(state.process("host pid " + std::to_string(r)));
  }

  void work(double usual_us, int slow_rank = -1, double slow_us = 0) {
    for (std::size_t r = 0; r < clock_us_.size(); ++r)
      clock_us_[r] += usual_us * (1 + 0.01 * normal_(random_)) +
                      (static_cast<int>(r) == slow_rank ? slow_us : 0);
  }

  // `silent`: this rank does not report it.
  void collective(const Group& group, CollectiveKind kind, std::uint64_t bytes, int silent = -1) {
    double last = 0;
    for (const int r : group.ranks) last = std::max(last, clock_us_[static_cast<std::size_t>(r)]);
    const std::uint64_t number = numbers_[group.id + std::to_string(static_cast<int>(kind))]++;
    const double transfer = 2000;
    for (std::size_t i = 0; i < group.ranks.size(); ++i) {
      const auto r = static_cast<std::size_t>(group.ranks[i]);
      const double inside = last + transfer - clock_us_[r];
      clock_us_[r] = last + transfer;
      if (static_cast<int>(r) == silent) continue;
      state.collective(processes_[r],
                       {.communicator = group.id,
                        .name = "",
                        .rank = static_cast<std::int32_t>(i),
                        .ranks = static_cast<std::int32_t>(group.ranks.size())},
                       {.kind = kind,
                        .number = number,
                        .bytes = bytes,
                        .duration = Ns{std::llround(inside * 1e3)},
                        .stamp_us = std::llround(clock_us_[r]) + 1'000'000,
                        .exact = true},
                       now());
    }
  }
  [[nodiscard]] double now() const { return *std::ranges::max_element(clock_us_) / 1e6 + paused; }
  std::vector<LiveEvent> settle() {
    state.settle(now());
    return state.take_events();
  }

  JobState state;
  double paused = 0;

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<std::size_t> processes_;
  std::vector<double> clock_us_;
  std::map<std::string, std::uint64_t> numbers_;
};

std::vector<int> all(int n) {
  std::vector<int> out;
  for (int r = 0; r < n; ++r) out.push_back(r);
  return out;
}

void step(ToldJob& job, const Group& world, int slow = -1, double slow_us = 0) {
  job.work(20'000, slow, slow_us / 2);
  job.collective(world, CollectiveKind::all_gather, 1 << 20);
  job.work(60'000, slow, slow_us / 2);
  job.collective(world, CollectiveKind::all_reduce, 25 << 20);
  job.work(10'000);
  job.collective(world, CollectiveKind::all_reduce, 7 << 20);
}

TEST(JobState, NamesASlowRankByTheDurationsOfCollectives) {
  const Group world{"world", all(8)};
  int named = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ToldJob job(8, seed);
    for (int s = 0; s < 60; ++s) {
      step(job, world);
      for (const LiveEvent& e : job.settle()) EXPECT_NE(e.kind, LiveEventKind::late) << s;
    }
    for (int s = 0; s < 10; ++s) {
      step(job, world, 5, 15'000);
      for (const LiveEvent& e : job.settle()) {
        if (e.kind != LiveEventKind::late) continue;
        EXPECT_EQ(e.ranks, std::vector<int>{5});
        EXPECT_NEAR(e.late_ns.value_or(0), 15e6, 3e6);
        ++named;
      }
    }
  }
  EXPECT_EQ(named, 20);
}

TEST(JobState, CountsStepsByThePeriodOfTheCollectives) {
  const Group world{"world", all(4)};
  ToldJob job(4, 1);
  for (int s = 0; s < 100; ++s) {
    step(job, world);
    job.settle();
  }
  EXPECT_EQ(job.state.step_source(), StepSource::collectives);
  EXPECT_EQ(job.state.communicators()[0]->period(), 3U);
  EXPECT_NEAR(job.state.curve().recent_ns().value_or(0), 96e6, 3e6);
  EXPECT_GT(job.state.curve().steps(), 70);
  const LiveCoverage coverage = job.state.coverage();
  EXPECT_EQ(coverage.records, 1200U);
  EXPECT_EQ(coverage.matched, 1200U);
  EXPECT_EQ(coverage.unrecorded, 0U);
  EXPECT_EQ(coverage.least_bytes, std::uint64_t{1} << 20);
}

// Tensor-parallel pairs within data-parallel groups: rank 2 is slow, so its partner 3 comes late to
// its data-parallel group as well. It only passes the delay on.
TEST(JobState, ARankThatWaitsElsewhereIsNotNamed) {
  std::vector<Group> tensor, data;
  for (int t = 0; t < 4; ++t) tensor.push_back({"tp" + std::to_string(t), {2 * t, 2 * t + 1}});
  for (int d = 0; d < 2; ++d) data.push_back({"dp" + std::to_string(d), {d, d + 2, d + 4, d + 6}});
  ToldJob job(8, 3);
  std::vector<int> named;
  for (int s = 0; s < 100; ++s) {
    for (int layer = 0; layer < 4; ++layer) {
      job.work(20'000, s >= 40 ? 2 : -1, 4'000);
      for (const Group& g : tensor) job.collective(g, CollectiveKind::all_reduce, 1 << 20);
    }
    for (const Group& g : data) job.collective(g, CollectiveKind::reduce_scatter, 25 << 20);
    for (const LiveEvent& e : job.settle())
      if (e.kind == LiveEventKind::late) named.insert(named.end(), e.ranks.begin(), e.ranks.end());
  }
  // Its rank in the widest communicator that it writes about.
  for (const int rank : named) EXPECT_EQ(rank, 1);
  EXPECT_FALSE(named.empty());
  for (const LiveProcess& p : job.state.processes())
    EXPECT_EQ(!p.late_in.empty(), p.name == "host pid 2") << p.name;
}

TEST(JobState, TellsWaitingFromTransfer) {
  const Group world{"world", all(4)};
  ToldJob job(4, 2);
  for (int s = 0; s < 50; ++s) {
    step(job, world, 1, 30'000);
    job.settle();
  }
  const LiveCommunicator& c = *job.state.communicators()[0];
  EXPECT_LT(c.wait(1), 0.2F * c.wait(0));
  // Three ranks of four wait 30 ms of a step for 6 ms of transfer.
  EXPECT_NEAR(c.mean_wait() / c.transfer(), 22.5 / 6, 0.5);
}

TEST(JobState, SaysThatRanksAreSilentAndThatTheyWriteAgain) {
  JobState state({.silent_s = 10, .stuck_s = 10});
  const std::size_t a = state.process("a"), b = state.process("b");
  state.name_rank(a, 0, 0);
  state.name_rank(b, 1, 0);
  for (int t = 1; t < 30; ++t) {
    state.heard(a, t);
    if (t < 5) state.heard(b, t);
    state.settle(t);
  }
  auto events = state.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::silent);
  EXPECT_EQ(events[0].ranks, std::vector<int>{1});
  EXPECT_EQ(events[0].seconds, 10);
  state.heard(b, 30);
  state.heard(a, 30);
  state.settle(30);
  events = state.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::heard_again);
  state.settle(60);
  events = state.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::stands_still);
  EXPECT_EQ(events[0].seconds, 30);
  EXPECT_TRUE(state.stands_still());
}

// A process that writes once a minute is not silent after half a minute.
TEST(JobState, WaitsForTheUsualPausesOfAProcess) {
  JobState state({.silent_s = 10, .stuck_s = 10});
  const std::size_t a = state.process("a");
  for (int t = 0; t <= 600; t += 60) {
    state.heard(a, t);
    state.settle(t + 1);
    if (t >= 60) state.settle(t + 59);
  }
  EXPECT_TRUE(state.take_events().empty());
}

TEST(JobState, FindsACollectiveThatOnlySomeHaveLeft) {
  const Group world{"world", all(4)};
  ToldJob job(4, 5);
  for (int s = 0; s < 20; ++s) {
    step(job, world);
    job.settle();
  }
  job.work(20'000);
  job.collective(world, CollectiveKind::all_gather, 1 << 20, 2);
  std::vector<LiveEvent> events;
  for (int t = 0; t < 50; ++t) {
    job.paused += 1;
    for (const LiveEvent& e : job.settle()) events.push_back(e);
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::stuck);
  EXPECT_EQ(events[0].ranks, std::vector<int>{2});
  EXPECT_EQ(events[0].collective, CollectiveKind::all_gather);
  EXPECT_EQ(events[0].number, 20U);
  EXPECT_EQ(job.state.coverage().unmatched, 3U);
}

TEST(JobState, SeesThatAJobWasRestarted) {
  JobState state;
  const auto tell = [&](const std::string& job, double from) {
    for (int s = 0; s < 20; ++s) {
      for (int r = 0; r < 4; ++r)
        state.collective(state.process(job + " pid " + std::to_string(r)),
                         {.communicator = job, .name = "", .rank = r, .ranks = 4},
                         {.kind = CollectiveKind::all_reduce,
                          .number = static_cast<std::uint64_t>(s),
                          .bytes = 1 << 20,
                          .duration = Ns{1000}},
                         from + s);
      state.settle(from + s);
    }
  };
  tell("first", 0);
  EXPECT_TRUE(state.take_events().empty());
  tell("second", 40);
  const auto events = state.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::restarted);
  EXPECT_EQ(events[0].rank_count, 4U);
  std::size_t replaced = 0;
  for (const LiveProcess& p : state.processes()) replaced += p.replaced ? 1U : 0U;
  EXPECT_EQ(replaced, 4U);
  // The communicator of the first job is forgotten, its records are not.
  for (int t = 0; t < 700; ++t) {
    state.heard(state.process("second pid 0"), 60 + t);
    state.settle(60 + t);
  }
  EXPECT_EQ(state.communicators().size(), 0U);
  EXPECT_EQ(state.coverage().records, 160U);
}

TEST(JobState, ComparesOwnWorkWhereOneProcessTellsThatOfAll) {
  JobState state;
  std::vector<float> own = {80e6F, 81e6F};
  const auto round = [&](int at) {
    state.own_work("job.prom", own, {.wall_ns = 100e6, .steps = 5, .iteration = 5 * at}, at);
    state.settle(at);
    return state.take_events();
  };
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(round(i).empty());
  own[1] = 110e6F;
  std::vector<LiveEvent> events;
  for (int i = 0; i < 10; ++i)
    for (const LiveEvent& e : round(40 + i)) events.push_back(e);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, LiveEventKind::late);
  EXPECT_EQ(events[0].ranks, std::vector<int>{1});
  EXPECT_EQ(events[0].since, 200);
  ASSERT_EQ(state.processes().size(), 2U);
  EXPECT_EQ(state.processes()[1].late_in, own_work_name);
  EXPECT_TRUE(state.processes()[0].late_in.empty());
}

// Ranks that write their steps themselves replace what another process said of them.
TEST(JobState, ARankThatTellsOfItselfIsTrustedMore) {
  JobState state;
  const std::vector<float> own = {80e6F, 81e6F};
  state.own_work("job.prom", own, {.wall_ns = 100e6}, 0);
  for (int step = 0; step < 20; ++step)
    for (int r = 0; r < 2; ++r)
      state.rank_step(
          state.process("host pid " + std::to_string(r)), {.rank = r, .world = 2, .peer_count = 2},
          {.step = step, .wall_ns = 100e6, .wait_ns = r == 0 && step >= 10 ? 40e6 : 0}, step);
  state.own_work("job.prom", own, {.wall_ns = 100e6}, 20);
  state.settle(20);
  for (const LiveProcess& p : state.processes()) EXPECT_EQ(p.replaced, p.told) << p.name;
  EXPECT_EQ(state.step_source(), StepSource::ranks);
  const auto events = state.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].ranks, std::vector<int>{1});
  EXPECT_EQ(events[0].since, 10);
}

// A writer that loses every fourth record of one rank: the lost records are counted.
TEST(JobState, CountsWhatItDidNotSee) {
  const Group world{"world", all(4)};
  ToldJob job(4, 9);
  for (int s = 0; s < 40; ++s) {
    job.work(50'000);
    job.collective(world, CollectiveKind::all_reduce, 1 << 20, s % 4 == 1 ? 3 : -1);
    job.settle();
  }
  job.state.close_all(job.now());
  const LiveCoverage c = job.state.coverage();
  EXPECT_EQ(c.records, 150U);
  EXPECT_EQ(c.matched, 120U);
  EXPECT_EQ(c.unmatched, 30U);
  EXPECT_EQ(c.unrecorded, 10U);
}

// 72 hours at a step a second. What is kept is full after an hour or so.
TEST(JobState, MemoryDoesNotGrowInThreeDays) {
  const Group world{"world", all(2)};
  ToldJob job(2, 4);
  const auto run = [&](int seconds) {
    for (int s = 0; s < seconds; ++s) {
      job.work(400'000, s / 3600 % 7 == 3 ? 1 : -1, 100'000);
      job.collective(world, CollectiveKind::reduce_scatter, 25 << 20);
      job.work(598'000);
      job.collective(world, CollectiveKind::all_gather, 25 << 20);
      job.settle();
    }
    return ::mallinfo2().uordblks;
  };
  const std::size_t day = run(24 * 3600);
  const std::size_t three = run(48 * 3600);
  EXPECT_LT(three, day + (256 << 10));
  EXPECT_EQ(job.state.coverage().matched, 4U * 72 * 3600);
}

TEST(JobState, MemoryDoesNotGrowWithTheCollectivesOfALostRank) {
  JobState state;
  for (std::uint64_t n = 0; n < 300'000; ++n)
    state.collective(
        state.process("a"), {.communicator = "c", .name = "", .rank = 0, .ranks = 1024},
        {.kind = CollectiveKind::all_reduce, .number = n, .bytes = 1 << 20, .duration = Ns{1000}},
        0);
  EXPECT_GE(state.coverage().unmatched, 300'000U - LiveCommunicator::most_open / 1024);
}

}  // namespace
}  // namespace stepscope
