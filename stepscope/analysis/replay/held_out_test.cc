// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/held_out.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/matching/gloo_test_builder.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {
namespace {

using StepTimes = std::vector<std::int64_t>;  // of the compute kernel of each step, in µs

// A rank that computes and then reduces with its peer. The host waits for the device in each step.
// `late`: the compute of the rank that both wait for. In step `extra` the kernel is another one. In
// step `status` the ranks reduce a number first.
TestRank varying_rank(const StepTimes& own, const StepTimes& late, std::size_t extra = 99,
                      std::size_t status = 99) {
  constexpr std::int64_t us = 1000;
  TestRank r;
  std::int64_t t = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const auto first = static_cast<std::uint32_t>(3 * k + 1);
    const auto seq = static_cast<std::int64_t>(2 * k);
    const std::int64_t reduced = t + (7 + late[k] + 30) * us;
    r.rows().step("ProfilerStep#" + std::to_string(k), t, reduced + 20 * us);
    r.rows().launch(first, t, t + 4 * us);
    r.rows().launch(first + 1, t + 5 * us, t + 6 * us);
    r.rows().kernel(k == extra ? "other" : "sgemm", t + 5 * us, t + (5 + own[k]) * us, first);
    std::int64_t ready = t + (7 + own[k]) * us;
    if (k == status) {
      const std::int64_t counted = t + (7 + late[k] + 2) * us;
      r.rows().launch(first + 2, t + 4 * us, t + 5 * us);
      r.annotate(r.comm(all_reduce_kernel, ready, counted, first + 2),
                 {.name = "allreduce", .elements = 1, .seq = seq});
      ready = counted;
    }
    const SliceId comm = r.comm(all_reduce_kernel, ready, reduced, first + 1);
    r.annotate(comm, {.name = "allreduce", .elements = 10'000, .seq = seq + 1});
    r.rows().row(r.rows().thread(1), Category::runtime, "cudaDeviceSynchronize", t + 8 * us,
                 reduced + 2 * us);
    t = reduced + 20 * us;
  }
  return r;
}

const StepTimes slow_times = {300, 400, 250, 500, 350};
const StepTimes fast_times = {200, 150, 220, 180, 210};

struct HeldOutJob {
  TestJob job;
  Collectives collectives;
  StepGraph graph;
  Replay replay;

  template <class... Rank>
  explicit HeldOutJob(Rank... rank) : job(ranks_of(std::move(rank)...), 2) {
    collectives = analyze_collectives(job.views());
    graph = build_step_graph(job.views(), collectives);
    replay = make_replay(graph, job.views());
  }
  template <class... Rank>
  static std::vector<TestRank> ranks_of(Rank... rank) {
    std::vector<TestRank> ranks;
    (ranks.push_back(std::move(rank)), ...);
    return ranks;
  }
  [[nodiscard]] std::optional<HeldOut> held_out() const {
    return predict_held_out(replay, job.views(), collectives.matches,
                            step_pieces(replay, job.views(), 1), 1);
  }
  // The explanation with the standing what-ifs, unless some are asked for.
  [[nodiscard]] Explanation explanation(const std::vector<Scenario>& asked = {}) const {
    const std::vector<std::string> roles(job.views().size(), "all");
    const std::vector<HostPhases> phases(job.views().size(), HostPhases{{{}, {}, {}}, {}});
    return *explain({.views = job.views(),
                     .collectives = collectives,
                     .roles = roles,
                     .phases = phases,
                     .scenarios = asked,
                     .standing = asked.empty()});
  }
};

TEST(HeldOut, AWholeGraphPredictsSteps) {
  const HeldOutJob job(varying_rank(slow_times, slow_times), varying_rank(fast_times, slow_times));
  const auto found = job.held_out();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->steps, 4U);
  EXPECT_LT(found->error, 0.001);
  EXPECT_GT(found->variation, 0.2);
  ASSERT_TRUE(found->fulfilled);
  EXPECT_NEAR(*found->fulfilled, 1, 0.01);
  const Explanation e = job.explanation();
  EXPECT_FALSE(e.refused);
  EXPECT_LT(e.unexplained_share, 0.1);
}

TEST(HeldOut, ACallThatSomeStepsLackIsNoPartnerOfAnother) {
  const HeldOutJob job(varying_rank(slow_times, slow_times, 99, 2),
                       varying_rank(fast_times, slow_times, 99, 2));
  ASSERT_TRUE(job.held_out());
  EXPECT_EQ(job.held_out()->steps, 4U);
  EXPECT_LT(job.held_out()->error, 0.01);
}

// Gloo runs a call on any of its threads.
TEST(HeldOut, ACallOfAPoolOfThreadsHasAPartnerOnAnotherThread) {
  const auto rank = [](std::int64_t own) {
    GlooRank r;
    for (std::int64_t k = 0; k < 6; ++k) {
      const std::int64_t t = 40 * k * ms;
      r.rows().step("ProfilerStep#" + std::to_string(k), t, t + 39 * ms);
      r.rows().op("aten::mm", t, t + own);
      r.call({.asked = t + 20 * ms, .worker = 2 + k % 2, .start = t + 20 * ms, .end = t + 30 * ms});
      r.rows().op("aten::add", t + 30 * ms, t + 38 * ms);
    }
    return std::move(r.rank());
  };
  const HeldOutJob job(rank(15 * ms), rank(19 * ms));
  ASSERT_TRUE(job.held_out());
  EXPECT_EQ(job.held_out()->steps, 5U);
}

// The peer is the late one: what the rank waits for is not in its rows.
TEST(HeldOut, WaitingForARankThatIsNotRecordedIsNotPredicted) {
  const HeldOutJob job(varying_rank(fast_times, slow_times));
  const auto found = job.held_out();
  ASSERT_TRUE(found);
  EXPECT_GT(found->error, 0.2);
  const Explanation e = job.explanation();
  EXPECT_TRUE(e.refused);
  EXPECT_TRUE(mispredicts(e, replay_error_large));
  EXPECT_TRUE(e.what_ifs.empty());
}

// Own compute varies while a peer sets the pace: the predicted changes never come.
TEST(HeldOut, ChangesThatThePeerHidesAreNotFulfilled) {
  const StepTimes own = {200, 320, 180, 340, 210, 330};
  const HeldOutJob job(varying_rank(own, StepTimes(own.size(), 500)));
  const auto found = job.held_out();
  ASSERT_TRUE(found);
  EXPECT_LT(found->variation, 0.001);
  EXPECT_GT(found->error, 0.1);
  ASSERT_TRUE(found->fulfilled);
  EXPECT_LT(*found->fulfilled, 0.1);
  EXPECT_TRUE(job.explanation().refused);
}

// A kernel of 400 us, a delay without a cause, a kernel of 200 us, which the host waits for.
TestRank delayed_rank(const StepTimes& delays) {
  constexpr std::int64_t us = 1000;
  TestRank r;
  std::int64_t t = 0;
  for (std::size_t k = 0; k < delays.size(); ++k) {
    const auto first = static_cast<std::uint32_t>(2 * k + 1);
    const std::int64_t second = t + (405 + delays[k]) * us;
    r.rows().step("ProfilerStep#" + std::to_string(k), t, second + 210 * us);
    r.rows().launch(first, t, t + 4 * us);
    r.rows().launch(first + 1, t + 5 * us, t + 6 * us);
    r.rows().kernel("sgemm", t + 5 * us, t + 405 * us, first);
    r.rows().kernel("gelu", second, second + 200 * us, first + 1);
    r.rows().row(r.rows().thread(1), Category::runtime, "cudaDeviceSynchronize", t + 8 * us,
                 second + 202 * us);
    t = second + 210 * us;
  }
  return r;
}

const StepTimes noisy_delays = {300, 400, 270, 380, 290, 390, 280};

// The steps differ by noise that the replay cannot predict. That hides a small gain, not a large
// one.
TEST(HeldOut, NoiseRefusesOnlyGainsThatItCouldHide) {
  const HeldOutJob job(delayed_rank(noisy_delays));
  const std::vector<Scenario> asked = {*parse_scenario("compute:2"),
                                       *parse_scenario("compute:1.2")};
  const Explanation e = job.explanation(asked);
  ASSERT_TRUE(e.held_out);
  EXPECT_TRUE(mispredicts(e, replay_error_large));
  EXPECT_FALSE(e.held_out->fulfilled);
  EXPECT_FALSE(e.refused);
  EXPECT_NEAR(static_cast<double>(gain_error(e).count()),
              e.held_out->error * static_cast<double>(e.step.count()), 1);
  const WhatIf& large = e.asked[0];
  EXPECT_EQ(large.saved, Ns{300'000});
  EXPECT_FALSE(large.doubted || large.shortest_step);
  const WhatIf& small = e.asked[1];  // 100 us, of steps that differ by more
  EXPECT_TRUE(small.doubted);
  EXPECT_EQ(small.saved, Ns{0});
  ASSERT_TRUE(small.shortest_step);
  EXPECT_EQ(most_saved(small), Ns{100'000} + gain_error(e));
  // The answers without a question: no gain is stated that the noise could hide.
  const Explanation standing = job.explanation();
  for (const WhatIf& w : standing.what_ifs)
    EXPECT_TRUE(w.doubted || w.saved >= 2 * gain_error(standing)) << name_of(w.scenario);
}

TEST(HeldOut, AGainCountsFromTwiceTheErrorOn) {
  Explanation e;
  e.step = std::chrono::milliseconds{100};
  e.held_out = HeldOut{.steps = 4, .error = 0.06, .variation = 0.068};
  EXPECT_EQ(gain_error(e), std::chrono::milliseconds{6});
  EXPECT_TRUE(doubts(e, std::chrono::milliseconds{11}));
  EXPECT_FALSE(doubts(e, std::chrono::milliseconds{12}));
  e.held_out->variation = 0.13;  // the replay predicts most of it
  EXPECT_EQ(gain_error(e), Ns{0});
  EXPECT_FALSE(doubts(e, Ns{1}));
}

TEST(HeldOut, EqualStepsOfUnjoinedCallsAreUnexplained) {
  const StepTimes same(5, 400);
  const HeldOutJob job(varying_rank(StepTimes(5, 100), same));
  const Explanation e = job.explanation();
  ASSERT_TRUE(e.held_out);
  EXPECT_EQ(e.held_out->error, 0);
  EXPECT_GT(e.unexplained_share, unexplained_refused);
  EXPECT_TRUE(e.refused);
  EXPECT_TRUE(e.what_ifs.empty());
  // What is asked for has a range: the peers may hide all of it.
  const Explanation asked = job.explanation({*parse_scenario("compute:2")});
  EXPECT_TRUE(asked.refused);
  ASSERT_EQ(asked.asked.size(), 1U);
  EXPECT_TRUE(asked.asked[0].doubted);
  EXPECT_EQ(asked.asked[0].saved, Ns{0});
  EXPECT_GE(most_saved(asked.asked[0]), Ns{50'000});
}

// One rank of two: how much of a call is transfer is not known, so a change of it has a range.
TEST(WhatIfOfUnsplitCalls, IsARangeFromNothingToTheExposedTime) {
  const StepTimes same(4, 300);
  const HeldOutJob job(varying_rank(StepTimes(4, 300), same));
  const Explanation e =
      job.explanation({*parse_scenario("bandwidth:2"), *parse_scenario("communication_free"),
                       *parse_scenario("compute:2")});
  ASSERT_FALSE(e.refused);
  // A call lasts 30 us, from the end of the kernel on.
  for (const auto& [i, most] : {std::pair{0, 15'000}, std::pair{1, 30'000}}) {
    const WhatIf& w = e.asked[static_cast<std::size_t>(i)];
    EXPECT_EQ(w.saved, Ns{0}) << i;
    EXPECT_EQ(w.unsplit, 4U) << i;
    EXPECT_GT(w.nodes, 0U) << i;
    EXPECT_NEAR(static_cast<double>(most_saved(w).count()), most, 3000) << i;
  }
  EXPECT_EQ(e.asked[2].unsplit, 0U);
  // Both ranks: the calls are split, and the answer is a number.
  const HeldOutJob both(varying_rank(same, same), varying_rank(same, same));
  const Explanation whole = both.explanation({*parse_scenario("bandwidth:2")});
  EXPECT_FALSE(whole.asked[0].shortest_step);
  EXPECT_EQ(whole.asked[0].unsplit, 0U);
}

TEST(HeldOut, NeedsThreeStepsWithTheSameWork) {
  const StepTimes two = {300, 400};
  EXPECT_FALSE(HeldOutJob(varying_rank(two, two)).held_out());
  const StepTimes three = {300, 400, 300};
  ASSERT_TRUE(HeldOutJob(varying_rank(three, three)).held_out());
  EXPECT_EQ(HeldOutJob(varying_rank(three, three)).held_out()->steps, 2U);
  EXPECT_FALSE(HeldOutJob(varying_rank(three, three, 1)).held_out());
}

}  // namespace
}  // namespace stepscope
