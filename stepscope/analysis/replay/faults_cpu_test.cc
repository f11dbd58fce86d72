// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "stepscope/analysis/ranks/unit_test_builder.h"
#include "stepscope/analysis/replay/faults.h"

namespace stepscope {
namespace {

using test::EngineRank;

constexpr std::int64_t transfer_time = 20;  // µs

// What a rank does in a step, in µs.
struct RankDoes {
  std::int64_t sleep = 0;      // before it loads data
  std::int64_t data = 10;      // loading
  double slower = 1;           // its operators
  std::int64_t disturbed = 0;  // piece `disturbed_piece` takes that much longer
  int disturbed_piece = 0;
};
using CpuProgram = std::function<RankDoes(int rank, int step)>;

struct Simulated {
  std::array<EngineRank, 2> ranks{EngineRank(), EngineRank()};
  std::int64_t end = 0;
};

// Two ranks of ZeRO-3: each of six units is gathered, awaited and computed; the step ends with the
// exchange of the gradients. Units take 100, 120, … 200 µs.
Simulated simulate_ranks(int steps, const CpuProgram& program) {
  Simulated s;
  std::int64_t begin = 0;
  for (int step = 0; step < steps; ++step) {
    std::array<std::int64_t, 2> at{};
    std::array<RankDoes, 2> work{};
    for (std::size_t r = 0; r < 2; ++r) {
      work[r] = program(static_cast<int>(r), step);
      at[r] = begin + 5 + work[r].sleep;
      s.ranks[r].load(at[r], at[r] + work[r].data);
      at[r] += work[r].data + 2;
    }
    for (int unit = 0; unit < 6; ++unit) {
      const std::string name = "block " + std::to_string(unit);
      const std::int64_t there = std::max(at[0], at[1]) + transfer_time;
      for (std::size_t r = 0; r < 2; ++r) {
        std::int64_t take = std::llround((100 + 20 * unit) * work[r].slower);
        if (work[r].disturbed_piece == unit) take += work[r].disturbed;
        s.ranks[r].fetch(name, at[r], there);
        s.ranks[r].pass(name, "forward", at[r] + 1, there + take, there);
        at[r] = there + take + 1;
      }
    }
    const std::int64_t end = std::max(at[0], at[1]) + transfer_time;
    for (std::size_t r = 0; r < 2; ++r) {
      s.ranks[r].reduce("block 0", at[r], end);
      s.ranks[r].wait("reduce", at[r] + 1, end);
      s.ranks[r].update(end, end + 30);
      s.ranks[r].step(step, begin, end + 32);
    }
    begin = end + 32;
  }
  s.end = begin;
  return s;
}

struct FoundFaults {
  std::vector<StepFault> faults;
  Ns step{};
};

FoundFaults cpu_faults_of(int steps, const CpuProgram& program) {
  Simulated s = simulate_ranks(steps, program);
  std::vector<TestRank> ranks;
  for (EngineRank& r : s.ranks) ranks.push_back(r.take());
  const TestJob job(std::move(ranks));
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const std::vector<std::string> roles(2, "all");
  const PeerMedians medians = peer_medians(replay, job.views(), roles);
  return {find_faults({replay, job.views(), collectives, roles, medians}, 1), replay.step};
}

// What a step takes longer than without the fault, in µs.
double true_cost(int steps, const CpuProgram& faulty, const CpuProgram& sound) {
  return static_cast<double>(simulate_ranks(steps, faulty).end - simulate_ranks(steps, sound).end) /
         steps;
}

double in_us(Ns t) { return static_cast<double>(t.count()) / 1e3; }

// Neighbours on the cores lengthen some pieces by much, on both ranks alike.
RankDoes disturbed_rank(int rank, int step) {
  const int draw = (7 * step + 3 * rank + step * step) % 11;
  return {.disturbed = draw < 5 ? 0 : 40 * draw, .disturbed_piece = (draw + step) % 6};
}

TEST(CpuFaults, EqualRanksHaveNoneHoweverDisturbed) {
  EXPECT_TRUE(cpu_faults_of(8, [](int, int) { return RankDoes{}; }).faults.empty());
  EXPECT_TRUE(cpu_faults_of(20, disturbed_rank).faults.empty());
  EXPECT_TRUE(cpu_faults_of(5, disturbed_rank).faults.empty());
}

TEST(CpuFaults, ADataLoaderCostsWhatItTakes) {
  for (const int steps : {5, 20}) {
    const auto faulty = [](int rank, int step) {
      RankDoes w = disturbed_rank(rank, step);
      if (rank == 1) w.data = 210 + step % 3;
      return w;
    };
    const FoundFaults found = cpu_faults_of(steps, faulty);
    ASSERT_EQ(found.faults.size(), 1U) << steps;
    const StepFault& f = found.faults.front();
    EXPECT_EQ(f.kind, StepFaultKind::data_loader);
    EXPECT_EQ(f.ranks, std::vector{1});
    EXPECT_EQ(name_of(f.scenario), "rank_as_peers:data@1");
    EXPECT_NEAR(in_us(f.excess), 201, 1);
    const double truth = true_cost(steps, faulty, disturbed_rank);
    EXPECT_NEAR(in_us(f.gain), truth, 0.01 * truth);
  }
}

TEST(CpuFaults, ASleepingRankIsALateHost) {
  const auto faulty = [](int rank, int step) {
    RankDoes w = disturbed_rank(rank, step);
    if (rank == 0) w.sleep = 150;
    return w;
  };
  const FoundFaults found = cpu_faults_of(12, faulty);
  ASSERT_EQ(found.faults.size(), 1U);
  const StepFault& f = found.faults.front();
  EXPECT_EQ(f.kind, StepFaultKind::late_host);
  EXPECT_EQ(f.ranks, std::vector{0});
  EXPECT_NEAR(in_us(f.excess), 150, 1);
  const double truth = true_cost(12, faulty, disturbed_rank);
  EXPECT_NEAR(in_us(f.gain), truth, 0.01 * truth);
}

TEST(CpuFaults, ASlowCoreIsSlowInMostPieces) {
  const auto faulty = [](int rank, int step) {
    RankDoes w = disturbed_rank(rank, step);
    if (rank == 1) w.slower = 1.3;
    return w;
  };
  const FoundFaults found = cpu_faults_of(12, faulty);
  ASSERT_EQ(found.faults.size(), 1U);
  const StepFault& f = found.faults.front();
  EXPECT_EQ(f.kind, StepFaultKind::slow_rank);
  EXPECT_EQ(f.ranks, std::vector{1});
  // The units take 900 µs on the peer, and the update 30 on both.
  EXPECT_NEAR(f.ratio, (1.3 * 900 + 30) / 930, 0.001);
  EXPECT_EQ(name_of(f.scenario), "rank_as_peers:compute@1");
  const double truth = true_cost(12, faulty, disturbed_rank);
  EXPECT_NEAR(in_us(f.gain), truth, 0.04 * truth);
}

TEST(CpuFaults, ACoreThatSlowsDownNamesTheStep) {
  const auto faulty = [](int rank, int step) {
    RankDoes w;
    if (rank == 0 && step >= 9) w.slower = 1.5;
    return w;
  };
  const FoundFaults found = cpu_faults_of(16, faulty);
  ASSERT_EQ(found.faults.size(), 1U);
  const StepFault& f = found.faults.front();
  EXPECT_EQ(f.kind, StepFaultKind::throttling);
  EXPECT_EQ(f.ranks, std::vector{0});
  EXPECT_EQ(f.steps, std::vector<std::int64_t>{9});
  EXPECT_NEAR(f.ratio, (1.5 * 900 + 30) / 930, 0.001);
  const double truth = true_cost(16, faulty, [](int, int) { return RankDoes{}; });
  EXPECT_NEAR(in_us(f.gain), truth, 0.02 * truth);
}

// One operator of one layer that takes longer in each step costs the step, too.
TEST(CpuFaults, ARankOfWhichOneOperatorIsSlowIsSlow) {
  const auto program = [](int rank, int) {
    return rank == 0 ? RankDoes{.disturbed = 300, .disturbed_piece = 5} : RankDoes{};
  };
  const FoundFaults found = cpu_faults_of(10, program);
  ASSERT_EQ(found.faults.size(), 1U);
  EXPECT_EQ(found.faults.front().kind, StepFaultKind::slow_rank);
  EXPECT_EQ(found.faults.front().ranks, std::vector{0});
  EXPECT_EQ(found.faults.front().excess, Ns{300 * 1000});
  EXPECT_EQ(found.faults.front().gain, Ns{300 * 1000});
}

}  // namespace
}  // namespace stepscope
