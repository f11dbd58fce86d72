// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "stepscope/analysis/matching/gloo_test_builder.h"
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

// Two stages of a pipeline. The host of the second shows nothing for 3 ms of each step, and the
// first waits for its gradients, with a row of its message alone or without. `late`: the first is
// held instead: by 3 ms before it sends.
enum class Other { waits, waits_unseen, late };

std::vector<TestRank> stages_with_a_hole(Other other) {
  std::vector<GlooRank> ranks(2);
  for (GlooRank& rank : ranks) rank.group("0", "default_pg", {0, 1});
  for (int step = 0; step < 8; ++step) {
    const std::int64_t at = 5 * ms * step;
    const std::int64_t sent = at + (other == Other::late ? 3'300 : 300) * us;
    for (GlooRank& rank : ranks)
      rank.rows().step("ProfilerStep#" + std::to_string(step), at, at + 4'900 * us);
    ranks[0].rows().op("aten::mm", at, sent);
    ranks[0].message({.peer = 1, .asked = sent, .collected = sent + 2 * us});
    ranks[0].message(
        {.sends = false, .peer = 1, .asked = sent + 10 * us, .collected = at + 4'400 * us});
    // The row of a message that is sent meanwhile does not show that the thread waits.
    if (other == Other::waits_unseen)
      ranks[0].rows().op("aten::empty", sent + 20 * us, sent + 22 * us);
    ranks[0].rows().op("aten::add_", at + 4'410 * us, at + 4'800 * us);
    ranks[1].rows().op("aten::randn", at, at + 5 * us);
    ranks[1].rows().op("aten::repeat", at + 3'005 * us, at + 3'010 * us);
    ranks[1].message({.sends = false,
                      .peer = 0,
                      .asked = at + 3'012 * us,
                      .collected = std::max(at + 3'014 * us, sent + 3 * us)});
    ranks[1].rows().op("aten::mm", at + 3'320 * us, at + 4'380 * us);
    ranks[1].message({.peer = 0, .asked = at + 4'390 * us, .collected = at + 4'392 * us});
    ranks[1].rows().op("aten::add_", at + 4'410 * us, at + 4'800 * us);
  }
  std::vector<TestRank> built;
  for (GlooRank& rank : ranks) built.push_back(std::move(rank.rank()));
  return built;
}

std::vector<StepFault> faults_of_stages(Other other) {
  const TestJob job(stages_with_a_hole(other));
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const std::vector<std::string> roles = {"pp0", "pp1"};
  const PeerMedians medians = peer_medians(replay, job.views(), roles);
  return find_faults({replay, job.views(), collectives, roles, medians}, 1);
}

TEST(CpuFaults, WhatNoRowOfAStageTellsIsNamedIfTheOthersWaitMeanwhile) {
  const auto of_rank_1 = [](const StepFault& f) {
    return f.kind == StepFaultKind::unseen_host && f.ranks == std::vector{1};
  };
  for (const Other other : {Other::waits, Other::waits_unseen}) {
    const std::vector<StepFault> found = faults_of_stages(other);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(of_rank_1(found.front()));
    EXPECT_EQ(name_of(found.front().scenario), "unseen_free@1");
    EXPECT_EQ(found.front().between, "between aten::randn and aten::repeat");
    EXPECT_NEAR(in_us(found.front().gain), 2'700, 300);
  }
  EXPECT_TRUE(std::ranges::none_of(faults_of_stages(Other::late), of_rank_1));
}

}  // namespace
}  // namespace stepscope
