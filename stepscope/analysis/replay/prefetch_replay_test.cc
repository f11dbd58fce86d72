// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/prefetch_replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/analysis/ranks/unit_test_builder.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {
namespace {

using test::EngineRank;
using test::Fsdp2Rank;

struct Built {
  TestJob job;
  Collectives collectives;
  StepGraph graph;
  Replay replay;
  std::vector<UnitWaits> units;

  explicit Built(std::vector<TestRank> ranks) : job(std::move(ranks)) {
    collectives = analyze_collectives(job.views());
    graph = build_step_graph(job.views(), collectives);
    replay = make_replay(graph, job.views());
    for (std::size_t v = 0; v < job.views().size(); ++v) {
      const RankView& view = job.views()[v];
      units.push_back(find_unit_waits(view, collectives.matches.ranks[v],
                                      collectives.times.by_view[v],
                                      host_phases(*view.trace, *view.index, view.steps)));
    }
  }
  [[nodiscard]] PrefetchReplay ask(std::uint32_t ahead, std::optional<int> rank = {}) const {
    return replay_with_prefetch(replay, job.views(), collectives, units, {ahead, rank}).value();
  }
  [[nodiscard]] Ns saved(std::uint32_t ahead) const { return replay.step - ask(ahead).step; }
};

template <class... Rank>
std::vector<TestRank> ranks_of(Rank... rank) {
  std::vector<TestRank> ranks;
  (ranks.push_back(std::move(rank)), ...);
  return ranks;
}

TEST(PrefetchReplay, AsManyUnitsAheadAsRecordedChangesNothing) {
  const Built b(ranks_of(test::late_third_unit()));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(recorded_prefetch(b.units), 1U);
  EXPECT_EQ(b.saved(1), Ns{0});
  EXPECT_EQ(b.ask(1).moved, 0U);
}

TEST(PrefetchReplay, OneMoreUnitAheadHidesTheLateFetch) {
  const Built b(ranks_of(test::late_third_unit()));
  EXPECT_EQ(b.saved(2), Ns{19 * us});
  EXPECT_EQ(b.ask(2).moved, 1U);
  EXPECT_EQ(b.saved(7), Ns{19 * us});  // not before the step
  EXPECT_EQ(prefetches_to_try(b.units), (std::vector<std::uint32_t>{2, 3}));
}

// The second unit's 10 µs and the third's 80 are no longer hidden: 10 and 61 more.
TEST(PrefetchReplay, WithoutPrefetchingEveryFetchIsWaitedFor) {
  const Built b(ranks_of(test::late_third_unit()));
  EXPECT_EQ(b.saved(0), Ns{-71 * us});
  EXPECT_EQ(b.ask(0).moved, 2U);
}

// Both ranks gather; the later one decides. The second rank is 10 µs slower in its first unit.
TEST(PrefetchReplay, AMovedGatherStillWaitsForEveryRank) {
  const auto rank = [](std::int64_t more) {
    EngineRank r(4, 0, 400);
    r.fetch("a", 0, 10);
    r.pass("a", "forward", 5, 110 + more, 10);
    r.fetch("b", 110 + more, 200);
    r.pass("b", "forward", 111 + more, 300, 200);
    return r.take();
  };
  const Built b(ranks_of(rank(0), rank(10)));
  ASSERT_EQ(b.graph.joined, 4U);
  EXPECT_EQ(recorded_prefetch(b.units), 0U);
  // b's gather took 80 from the last arrival, 120. Requested at 5 it hides behind the first unit:
  // in the step, the 100 of b come after 121 instead of 200.
  EXPECT_EQ(b.saved(1), Ns{79 * us});
  EXPECT_EQ(b.ask(1).moved, 2U);
  // Moved on one rank alone, it waits for the other rank's gather.
  EXPECT_EQ(b.replay.step - b.ask(1, 0).step, Ns{0});
}

// A gather that moves before a reduction is sent before it. A gather that moves after it waits for
// it.
TEST(PrefetchReplay, TheStreamGoesInTheNewOrder) {
  EngineRank r(0, 0, 500);
  r.fetch("a", 0, 10);
  r.pass("a", "backward", 1, 110, 10);
  r.reduce("a", 111, 161);
  r.fetch("b", 112, 191);  // 30 behind the reduction
  r.pass("b", "backward", 113, 291, 191);
  const Built b(ranks_of(r.take()));
  EXPECT_EQ(b.saved(1), Ns{78 * us});  // 191 → 113
}

// While the thread waits for b it handles the reduction that ended meanwhile. If b had arrived, it
// would not have waited for that.
TEST(PrefetchReplay, WhatEndedWhileAUnitWasWaitedForIsNotWaitedForItself) {
  EngineRank r(0, 0, 500);
  r.fetch("a", 0, 10);
  r.pass("a", "backward", 1, 110, 10);
  r.reduce("a", 111, 161);
  r.fetch("b", 112, 191);
  r.woken_pass("b", "backward", 113, 161, 191, 291);
  const Built b(ranks_of(r.take()));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(b.saved(0), Ns{0});
  EXPECT_EQ(b.saved(1), Ns{76 * us});  // 191 → 113, and 2 for the handling
}

// This trainer keeps a unit that is used again at most one pass more than the prefetch ahead.
TEST(PrefetchReplay, AUnitThatIsUsedAgainSoonIsKept) {
  const auto rank = [](bool again) {
    EngineRank r(0, 0, 600);
    r.fetch("a", 0, 10);
    r.pass("a", "forward", 1, 110, 10);
    r.fetch("head", 111, 121);
    r.pass("head", "backward", 112, 221, 121);
    if (again) r.fetch("a", 222, 232);
    r.pass("a", "backward", 223, 400, again ? 232 : 0);
    return r.take();
  };
  const Built fetched(ranks_of(rank(true)));
  EXPECT_EQ(fetched.ask(1).dropped, 1U);
  EXPECT_EQ(fetched.ask(1).added, 0U);
  EXPECT_EQ(fetched.saved(1), Ns{(9 + 9) * us});  // of the head and of a
  // Two passes apart, a prefetch of one kept it. Without prefetch it is fetched again, in 10 µs.
  EngineRank r(0, 0, 600);
  r.fetch("a", 0, 10);
  r.fetch("head", 0, 20);
  r.pass("a", "forward", 1, 110, 10);
  r.pass("head", "backward", 111, 221);
  r.fetch("b", 221, 231);
  r.pass("a", "backward", 222, 300);
  r.pass("b", "backward", 300, 400);
  const Built kept(ranks_of(r.take()));
  ASSERT_EQ(recorded_prefetch(kept.units), 1U);
  EXPECT_EQ(kept.ask(0).added, 1U);
  EXPECT_EQ(kept.ask(1).added, 0U);
  EXPECT_LT(kept.saved(0), Ns{-10 * us});
}

// A unit that was fetched although it was used just before (without a read) is fetched again.
TEST(PrefetchReplay, AFetchThatTheRuleDoesNotExplainStays) {
  EngineRank r(0, 0, 600);
  r.fetch("a", 0, 10);
  r.pass("a", "backward", 1, 110, 10);
  r.fetch("a", 110, 130);
  r.pass("a", "forward", 111, 400, 130);
  const Built b(ranks_of(r.take()));
  EXPECT_EQ(b.ask(0).dropped, 0U);
  EXPECT_EQ(b.saved(0), Ns{0});
  EXPECT_EQ(b.ask(1).dropped, 0U);
  EXPECT_EQ(b.saved(1), Ns{19 * us});
}

TEST(PrefetchReplay, OnADeviceTheCopyStillWaitsForItsLaunch) {
  const Built b(ranks_of(test::hooks_of_four_units()));
  EXPECT_EQ(b.replay.error, 0);
  EXPECT_EQ(recorded_prefetch(b.units), 0U);
  EXPECT_EQ(b.saved(0), Ns{0});
  // The last gather arrives in time. Its copy is launched at 236, the product at 241, which is 3
  // later on the device: it ends at 344 instead of 365.
  EXPECT_EQ(b.saved(1), Ns{21 * us});
  EXPECT_EQ(b.ask(1).moved, 3U);
  EXPECT_EQ(b.saved(2), Ns{21 * us});
}

TEST(PrefetchReplay, IsAStandingQuestionWhereUnitsAreKnown) {
  const Built b(ranks_of(test::late_third_unit()));
  const std::vector<std::string> roles = {"all"};
  const PeerMedians medians = peer_medians(b.replay, b.job.views(), roles);
  const auto found = standing_what_ifs(
      {b.replay, b.job.views(), b.collectives, roles, medians, {}, b.units}, nullptr, 1);
  const auto prefetch = std::ranges::find_if(
      found, [](const WhatIf& w) { return name_of(w.scenario) == "prefetch:2"; });
  ASSERT_NE(prefetch, found.end());
  EXPECT_EQ(prefetch->saved, Ns{19 * us});
  EXPECT_EQ(prefetch->nodes, 1U);
}

TEST(PrefetchReplay, WithoutUnitsThereIsNoAnswer) {
  TestRank r;
  r.rows().step("ProfilerStep#1", 0, 100 * us);
  r.rows().op("aten::mm", 0, 90 * us);
  const Built b(ranks_of(std::move(r)));
  EXPECT_FALSE(replay_with_prefetch(b.replay, b.job.views(), b.collectives, b.units, {1, {}}));
  EXPECT_TRUE(prefetches_to_try(b.units).empty());
}

}  // namespace
}  // namespace stepscope
