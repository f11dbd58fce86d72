// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/steady_excess.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

// Steps of 1 ms: a kernel launched at once, another kernel after the host's own time, then a wait
// of the host.
TestRank rank_of(std::span<const int> host_us, std::span<const int> compute_us) {
  TestRank r;
  for (std::size_t n = 0; n < host_us.size(); ++n) {
    const std::int64_t t = 1000 * us * static_cast<std::int64_t>(n);
    const auto id = static_cast<std::uint32_t>(10 * n + 1);
    const std::int64_t launch = t + (100 + host_us[n]) * us;
    r.rows().step("ProfilerStep#" + std::to_string(n), t, t + 1000 * us);
    r.rows().launch(id, t + 10 * us, t + 12 * us);
    r.rows().kernel("sgemm", t + 15 * us, t + (50 + compute_us[n]) * us, id);
    r.rows().launch(id + 1, launch, launch + 2 * us);
    r.rows().kernel("add", launch + 5 * us, launch + 10 * us, id + 1);
    r.rows().row(r.rows().thread(1), Category::runtime, "cudaDeviceSynchronize", launch + 4 * us,
                 t + 990 * us);
  }
  return r;
}

std::vector<SteadyExcess> excess_of(TestRank a, TestRank b) {
  std::vector<TestRank> ranks;
  ranks.push_back(std::move(a));
  ranks.push_back(std::move(b));
  const TestJob job(std::move(ranks));
  const Collectives collectives = analyze_collectives(job.views());
  const StepGraph graph = build_step_graph(job.views(), collectives);
  const Replay replay = make_replay(graph, job.views());
  const std::vector<std::string> roles(2, "all");
  return steady_excess(replay, job.views(), peer_medians(replay, job.views(), roles));
}

constexpr std::array<int, 20> none = {};
// As much on average as the steady host's, but in some steps only.
constexpr std::array noise = {250, 0, 10, 5, 240, 0, 0, 3, 0, 0, 0, 230, 8, 0, 0, 0, 260, 2, 0, 4};

TEST(SteadyExcess, FindsAHostThatIsSlowInEveryStepUnderNoiseElsewhere) {
  constexpr std::array slow = {52, 49, 50, 51, 50, 48, 50, 52, 50, 49,
                               50, 53, 47, 50, 51, 50, 49, 48, 52, 50};
  const auto found = excess_of(rank_of(none, noise), rank_of(slow, none));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].kind, NodeKind::host);
  EXPECT_NEAR(static_cast<double>(found[0].mean.count()), 50e3, 6e3);
  EXPECT_GE(found[0].in_steps, 18U);
  EXPECT_EQ(found[0].steps, 20U);
}

// Its peer is equally slow in a third of the steps, so its steps tell little about their mean.
TEST(SteadyExcess, FindsARankThatIsSlowAtItsBestWhilePeersAreDisturbed) {
  constexpr std::array slow = {340, 338, 342, 341, 339, 340, 342, 340, 341, 338,
                               340, 339, 341, 340, 342, 338, 340, 341, 339, 340};
  constexpr std::array disturbed = {0, 3, 1, 0, 340, 360, 350, 345, 355, 350,
                                    0, 2, 1, 0, 4,   0,   1,   2,   0,   3};
  const auto found = excess_of(rank_of(none, disturbed), rank_of(none, slow));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].kind, NodeKind::compute);
  EXPECT_NEAR(static_cast<double>(found[0].at_best.count()), 339e3, 2e3);
  EXPECT_EQ(found[0].in_steps, 14U);
}

// It is disturbed in most steps and as fast as its peers in the others. Slightly slower is chance.
TEST(SteadyExcess, SaysNothingOfARankThatIsDisturbedForMostSteps) {
  constexpr std::array disturbed = {350, 340, 360, 0,   1, 350, 345, 355, 0, 2,
                                    0,   350, 340, 345, 0, 1,   0,   350, 0, 345};
  EXPECT_TRUE(excess_of(rank_of(none, disturbed), rank_of(none, none)).empty());
  constexpr std::array small = {9,  11, 14, 17, 21, 26, 30, 33, 35, 34,
                                31, 27, 23, 19, 15, 12, 10, 9,  11, 13};
  EXPECT_TRUE(excess_of(rank_of(none, none), rank_of(none, small)).empty());
}

TEST(SteadyExcess, TellsComputeFromHost) {
  constexpr std::array slow = {60, 61, 59, 60, 62, 60, 60, 58, 60, 61,
                               59, 60, 60, 61, 62, 60, 59, 61, 60, 58};
  const auto found = excess_of(rank_of(none, slow), rank_of(none, none));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[0].kind, NodeKind::compute);
}

TEST(SteadyExcess, SaysNothingOfNoiseEqualRanksAndFewSteps) {
  EXPECT_TRUE(excess_of(rank_of(noise, none), rank_of(none, none)).empty());
  EXPECT_TRUE(excess_of(rank_of(none, none), rank_of(none, none)).empty());
  constexpr std::array slow = {50, 50, 50, 50};
  EXPECT_TRUE(excess_of(rank_of(slow, std::span(none).first(4)),
                        rank_of(std::span(none).first(4), std::span(none).first(4)))
                  .empty());
}

}  // namespace
}  // namespace stepscope
