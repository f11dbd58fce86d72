// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/faults.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "stepscope/analysis/replay/scenario_changes.h"
#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

constexpr std::int64_t us = 1000;
constexpr int usual_steps = 8;

// What one rank does in one step, in µs.
struct StepOfRank {
  std::int64_t host = 20;      // before the first launch
  std::int64_t compute = 400;  // of each of its two kernels
  bool saves = false;          // the host's work has a row
};
using Program = std::function<StepOfRank(int rank, int step)>;

// Four data-parallel ranks. A step: the host works, launches a kernel, another one and the
// all-reduce of the gradients, and waits for the device. The all-reduce takes 100 µs after the last
// rank has come.
std::vector<TestRank> ranks_of(const Program& program, int steps) {
  constexpr int count = 4;
  std::vector<TestRank> ranks(count);
  std::int64_t begin = 1000 * us;
  for (int s = 0; s < steps; ++s) {
    std::array<std::int64_t, count> first{};
    std::int64_t last = 0;
    for (int r = 0; r < count; ++r) {
      const StepOfRank work = program(r, s);
      first[static_cast<std::size_t>(r)] = begin + (work.host + 5) * us;
      last = std::max(last, first[static_cast<std::size_t>(r)] + 2 * work.compute * us);
    }
    const std::int64_t end = last + 100 * us;
    for (int r = 0; r < count; ++r) {
      TestRank& rank = ranks[static_cast<std::size_t>(r)];
      const StepOfRank work = program(r, s);
      const std::int64_t start = first[static_cast<std::size_t>(r)];
      const std::int64_t launch = start - 5 * us;
      const auto id = static_cast<std::uint32_t>(10 * s + 1);
      rank.rows().step("ProfilerStep#" + std::to_string(s), begin, end + 10 * us);
      if (work.saves) rank.rows().op("torch.save", begin + us, begin + (work.host - 1) * us);
      for (std::uint32_t k = 0; k < 3; ++k)
        rank.rows().launch(id + k, launch + k * us, launch + k * us + us / 2);
      rank.rows().kernel("sgemm", start, start + work.compute * us, id);
      rank.rows().kernel("sgemm", start + work.compute * us, start + 2 * work.compute * us, id + 1);
      const SliceId reduce =
          rank.comm(all_reduce_kernel, start + 2 * work.compute * us, end, id + 2);
      rank.annotate(reduce,
                    {.name = "allreduce", .ranks = "[0, 1, 2, 3]", .size = count, .seq = s});
      rank.rows().row(rank.rows().thread(1), Category::runtime, "cudaDeviceSynchronize",
                      launch + 3 * us, end + 5 * us);
    }
    begin = end + 10 * us;
  }
  return ranks;
}

std::vector<StepFault> faults_of(const Program& program,
                                 const std::vector<std::string>& roles = {"all", "all", "all",
                                                                          "all"},
                                 int steps = usual_steps) {
  const TestJob job(ranks_of(program, steps));
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const PeerMedians medians = peer_medians(replay, job.views(), roles);
  return find_faults({replay, job.views(), collectives, roles, medians}, 1);
}

TEST(Faults, AJobOfEqualRanksHasNone) {
  EXPECT_TRUE(faults_of([](int rank, int step) {
                return StepOfRank{.compute = 400 + (7 * rank + 3 * step) % 5};
              }).empty());
}

TEST(Faults, ARankWithLongerKernelsIsSlowAndItsPeersAreNot) {
  const auto faults =
      faults_of([](int rank, int) { return StepOfRank{.compute = rank == 2 ? 500 : 400}; });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::slow_rank);
  EXPECT_EQ(faults[0].ranks, std::vector<int>{2});
  EXPECT_EQ(faults[0].gain, Ns{200 * us});
  EXPECT_DOUBLE_EQ(faults[0].ratio, 1.25);
  EXPECT_EQ(name_of(faults[0].scenario), "rank_as_peers:compute@2");
}

// Work without a launch or a row before it began when the recording let it: its delay is no work,
// so no rank gains by that of its peers.
TEST(Faults, WorkThatBeginsTheRecordingHasNoDelayToCompare) {
  auto ranks = ranks_of([](int, int) { return StepOfRank{}; }, usual_steps);
  for (TestRank& rank : ranks)
    rank.rows().row(rank.rows().stream(0, 9), Category::memcpy, "Memcpy HtoD (Pageable -> Device)",
                    1300 * us, 1306 * us);
  const TestJob job(std::move(ranks));
  const std::vector<std::string> roles(4, "all");
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const PeerMedians medians = peer_medians(replay, job.views(), roles);
  const WhatIfInputs in{replay, job.views(), collectives, roles, medians};
  for (int rank = 0; rank < 4; ++rank) {
    const auto as_peers = changes_of(in, {.change = Change::rank_as_peers, .rank = rank});
    for (const NodeChange& c : as_peers) EXPECT_LE(c.work, Ns{us}) << "on rank " << rank;
    EXPECT_LE(replay.step - replay_step(replay, as_peers), Ns{us}) << "of rank " << rank;
  }
}

TEST(Faults, ARankAloneInItsStageIsComparedWithTheOtherStages) {
  const auto faults =
      faults_of([](int rank, int) { return StepOfRank{.compute = rank == 2 ? 500 : 400}; },
                {"pp0", "pp1", "pp2", "pp3"});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::slow_rank);
  EXPECT_EQ(faults[0].ranks, std::vector<int>{2});
  EXPECT_EQ(faults[0].gain, Ns{200 * us});
}

TEST(Faults, ARankThatBecomesSlowIsThrottledFromThatStep) {
  const auto faults = faults_of(
      [](int rank, int step) { return StepOfRank{.compute = rank == 1 && step >= 4 ? 600 : 400}; });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::throttling);
  EXPECT_EQ(faults[0].steps, std::vector<std::int64_t>{4});
  // 400 µs in four of the seven steps that count.
  EXPECT_NEAR(static_cast<double>(faults[0].gain.count()), 400.0 * us * 4 / 7, 10 * us);
}

TEST(Faults, AHostThatComesLateInEachStepIsLate) {
  const auto faults =
      faults_of([](int rank, int) { return StepOfRank{.host = rank == 3 ? 220 : 20}; });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::late_host);
  EXPECT_EQ(faults[0].ranks, std::vector<int>{3});
  EXPECT_EQ(faults[0].gain, Ns{200 * us});
}

TEST(Faults, RareLongHostWorkIsAPause) {
  const auto faults = faults_of([](int rank, int step) {
    const bool pause = (rank == 0 && step == 2) || (rank == 2 && step == 5);
    return StepOfRank{.host = pause ? 1020 : 20};
  });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].kind, StepFaultKind::pauses);
  EXPECT_EQ(faults[0].ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(faults[0].steps, (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(faults[0].gain, Ns{2000 * us / 7});
}

TEST(Faults, AStepThatIsLongOnAllRanksIsAnOutlier) {
  const auto faults =
      faults_of([](int, int step) { return StepOfRank{.host = step == 6 ? 3020 : 20}; });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::outlier_step);
  EXPECT_EQ(faults[0].steps, std::vector<std::int64_t>{6});
  EXPECT_EQ(faults[0].gain, Ns{3000 * us / 7});
  EXPECT_EQ(faults[0].excess, faults[0].gain * 7) << "of the seven steps that count";
  const double usual = 20 + 5 + 800 + 100 + 10;
  EXPECT_NEAR(faults[0].ratio, (usual + 3000) / usual, 0.01);
}

// Another rank computes longer in each other step, so the pieces of the long step are shortened to
// medians that no step has together.
TEST(Faults, AStepWithTheWorkOfTheOthersIsNoShorterThanTheyAre) {
  const auto faults = faults_of([](int rank, int step) {
    if (step == 6) return StepOfRank{.host = 3020};
    return StepOfRank{.compute = rank == step % 4 ? 600 : 400};
  });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].kind, StepFaultKind::outlier_step);
  EXPECT_EQ(faults[0].steps, std::vector<std::int64_t>{6});
  EXPECT_LE(faults[0].gain, Ns{2600 * us / 7 + 1});
}

TEST(Faults, WhereOneStepCountsALargeExcessIsNamedWithoutItsVariation) {
  const auto faults =
      faults_of([](int rank, int) { return StepOfRank{.host = rank == 3 ? 2020 : 20}; },
                {"all", "all", "all", "all"}, 2);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::late_host);
  EXPECT_EQ(faults[0].ranks, std::vector<int>{3});
  EXPECT_EQ(faults[0].lacks_steps, 1U);
  EXPECT_TRUE(faults_of([](int rank, int) { return StepOfRank{.host = rank == 3 ? 220 : 20}; },
                        {"all", "all", "all", "all"}, 2)
                  .empty());
}

// One rank writes the checkpoint: a row says so.
TEST(Faults, OneStepThatOneRankHoldsUpIsAnOutlierIfItDoesWhatOtherStepsDoNot) {
  for (const bool saves : {true, false}) {
    const auto faults = faults_of([&](int rank, int step) {
      const bool held_up = rank == 1 && step == 5;
      return StepOfRank{.host = held_up ? 2020 : 20, .saves = held_up && saves};
    });
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].kind, saves ? StepFaultKind::outlier_step : StepFaultKind::pauses);
    EXPECT_EQ(faults[0].steps, std::vector<std::int64_t>{5});
    EXPECT_EQ(faults[0].gain, Ns{2000 * us / 7});
    if (!saves) {
      EXPECT_EQ(faults[0].ranks, std::vector<int>{1});
    }
  }
}

// What the first step takes more is no part of the mean step.
TEST(Faults, ALongFirstStepIsNone) {
  EXPECT_TRUE(
      faults_of([](int, int step) { return StepOfRank{.host = step == 0 ? 9020 : 20}; }).empty());
}

// A step of 20 kernels on two ranks. After each of the first `waits`, `call` waits for the device,
// and another call does after the last.
std::vector<TestRank> ranks_that_wait(int waits, std::string_view call) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) {
    std::int64_t at = 1000 * us;
    std::uint32_t id = 0;
    for (int s = 0; s < usual_steps; ++s) {
      const std::int64_t begin = at;
      for (int k = 0; k < 20; ++k) {
        at += 50 * us;  // of the host
        rank.rows().launch(++id, at, at + us);
        rank.rows().kernel("sgemm", at + 5 * us, at + 105 * us, id);
        if (k < waits || k == 19)
          rank.rows().row(rank.rows().thread(1), Category::runtime,
                          k == 19 ? "cudaDeviceSynchronize" : call, at + 2 * us, at + 108 * us);
        at += (k < waits || k == 19 ? 108 : 55) * us;
      }
      rank.rows().step("ProfilerStep#" + std::to_string(s), begin, at);
      at += us;
    }
  }
  return ranks;
}

std::vector<StepFault> faults_of_ranks(std::vector<TestRank> ranks) {
  const TestJob job(std::move(ranks));
  const std::vector<std::string> roles = {"all", "all"};
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const PeerMedians medians = peer_medians(replay, job.views(), roles);
  return find_faults({replay, job.views(), collectives, roles, medians}, 1);
}

std::vector<StepFault> faults_of_waits(int waits, std::string_view call) {
  return faults_of_ranks(ranks_that_wait(waits, call));
}

TEST(Faults, CallsThatWaitWithinTheStepAreCountedWithoutTheOneAtItsEnd) {
  const auto faults = faults_of_waits(8, "cudaStreamSynchronize");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::sync_calls);
  EXPECT_EQ(faults[0].count, 8U);
  EXPECT_TRUE(faults_of_waits(1, "cudaStreamSynchronize").empty());
}

// Python works for 3 ms before the first launch of each step, and no row shows what it does.
TEST(Faults, LongHostWorkInEachStepThatNoRowTellsOfIsNamed) {
  const auto faults = faults_of([](int, int) { return StepOfRank{.host = 3020}; });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::unseen_host);
  EXPECT_TRUE(faults[0].ranks.empty());
  EXPECT_NEAR(static_cast<double>(faults[0].gain.count()), 3025.0 * us, 20 * us);
  EXPECT_EQ(name_of(faults[0].scenario), "unseen_free");
  EXPECT_EQ(faults[0].between, "between cudaDeviceSynchronize and cudaLaunchKernel");
}

TEST(Faults, WhatOneRankDoesUnseenMakesItLate) {
  const auto faults =
      faults_of([](int rank, int) { return StepOfRank{.host = rank == 1 ? 3020 : 20}; });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, StepFaultKind::late_host);
}

// Two ranks whose hosts run ahead of a device that is never idle.
TEST(Faults, UnseenHostTimeThatTheDeviceHidesIsNone) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks)
    for (int s = 0; s < usual_steps; ++s) {
      const std::int64_t at = (1000 + 3000 * s) * us;
      const std::int64_t start = (4000 + 9000 * s) * us;
      const auto id = static_cast<std::uint32_t>(s + 1);
      rank.rows().step("ProfilerStep#" + std::to_string(s), at, at + 3000 * us);
      rank.rows().launch(id, at + 2900 * us, at + 2910 * us);
      rank.rows().kernel("sgemm", start, start + 9000 * us, id);
    }
  EXPECT_TRUE(faults_of_ranks(std::move(ranks)).empty());
}

}  // namespace
}  // namespace stepscope
