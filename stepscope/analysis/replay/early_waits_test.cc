// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/early_waits.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/ranks/unit_test_builder.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {
namespace {

using test::EngineRank;

struct AskedForWaits {
  TestJob job;
  Collectives collectives;
  StepGraph graph;
  Replay replay;
  std::vector<HostPhases> phases;
  std::vector<UnitWaits> units;
  std::vector<std::string> roles;
  PeerMedians medians;
  std::vector<EarlyWait> waits;

  explicit AskedForWaits(std::vector<TestRank> ranks)
      : job(std::move(ranks)), roles(job.views().size()) {
    collectives = analyze_collectives(job.views());
    graph = build_step_graph(job.views(), collectives);
    replay = make_replay(graph, job.views());
    EXPECT_EQ(replay.error, 0);
    for (std::size_t v = 0; v < job.views().size(); ++v) {
      const RankView& view = job.views()[v];
      phases.push_back(host_phases(*view.trace, *view.index, view.steps));
      units.push_back(find_unit_waits(view, collectives.matches.ranks[v],
                                      collectives.times.by_view[v], phases.back()));
    }
    medians = peer_medians(replay, job.views(), roles);
    waits = find_early_waits(inputs());
  }
  [[nodiscard]] WhatIfInputs inputs() const {
    return {replay, job.views(), collectives, roles, medians, phases, units};
  }
  [[nodiscard]] Ns saved(std::optional<int> rank = {}) const {
    return replay.step - replay_without(inputs(), waits, rank);
  }
};

std::vector<TestRank> both(EngineRank (*write)()) {
  std::vector<TestRank> ranks;
  for (int i = 0; i < 2; ++i) ranks.push_back(write().take());
  return ranks;
}

// Fetches one unit ahead, each awaited right after its request.
EngineRank fetches() {
  EngineRank r(4, 0, 400);
  r.fetch("a", 0, 10);
  r.wait("fetch", 1, 10);
  r.fetch("b", 11, 41);
  r.wait("fetch", 12, 41);
  r.pass("a", "forward", 42, 142);
  r.fetch("c", 143, 173);
  r.wait("fetch", 144, 173);
  r.pass("b", "forward", 174, 274);
  r.pass("c", "forward", 275, 375);
  return r;
}

// Fetched at the time of need: a late fetch, not an early wait.
EngineRank fetches_on_demand() {
  EngineRank r(4, 0, 400);
  r.fetch("a", 0, 10);
  r.pass("a", "forward", 1, 110, 10);
  r.fetch("b", 111, 141);
  r.pass("b", "forward", 112, 240, 141);
  return r;
}

// The first is needed at once. The other two hide behind the previous unit.
TEST(EarlyWaits, OfFetchesHideBehindTheUnitBefore) {
  const AskedForWaits a(both(fetches));
  ASSERT_EQ(a.waits.size(), 4U);  // of two ranks
  EXPECT_EQ(a.waits[0].begin, Ns{12 * us});
  EXPECT_EQ(a.waits[0].end, Ns{41 * us});
  EXPECT_EQ(a.saved(), Ns{58 * us});
  EXPECT_EQ(a.saved(0), Ns{0});  // the other rank still waits
  const auto sums = sum_early_waits(a.inputs(), a.waits);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].count, 2U);
  EXPECT_EQ(sums[0].collectives, 3U);
  EXPECT_EQ(sums[0].total, Ns{58 * us});
}

// With an earlier request they would only be awaited earlier.
TEST(EarlyWaits, AreNoFetchesThatMorePrefetchingWouldHide) {
  const AskedForWaits a(both(fetches));
  for (const UnitWaits& units : a.units)
    for (const UnitUse& use : units.marks.uses) EXPECT_TRUE(use.waits_in_row);
  EXPECT_TRUE(prefetches_to_try(a.units).empty());
  for (const UnitWaits& units : AskedForWaits(both(fetches_on_demand)).units)
    for (const UnitUse& use : units.marks.uses) EXPECT_FALSE(use.waits_in_row);
}

// As a scenario: the same answer, and no answer for a trace without them.
TEST(EarlyWaits, AreWhatSyncFreeTakesAway) {
  const AskedForWaits a(both(fetches));
  const std::vector<Scenario> asked = {{.change = Change::sync_free},
                                       {.change = Change::sync_free, .rank = 7}};
  const auto answers = what_if(a.inputs(), asked, 1);
  EXPECT_EQ(answers[0].saved, Ns{58 * us});
  EXPECT_EQ(answers[0].nodes, 4U);
  EXPECT_EQ(answers[1].nodes, 0U);
  EXPECT_EQ(answers[1].saved, Ns{0});
}

TEST(EarlyWaits, AFetchThatIsNeededAtOnceIsNone) {
  EXPECT_TRUE(AskedForWaits(both(fetches_on_demand)).waits.empty());
}

// Three units' gradients of `transfer`, each awaited at once. The update needs the last.
template <std::int64_t transfer>
EngineRank reductions() {
  EngineRank r(4, 0, 1000);
  std::int64_t t = 0;
  for (const char* unit : {"c", "b", "a"}) {
    r.pass(unit, "backward", t, t + 100);
    r.reduce(unit, t + 101, t + 101 + transfer);
    r.wait("reduce", t + 102, t + 101 + transfer);
    t += 102 + transfer;
  }
  r.update(t, t + 50);
  return r;
}

TEST(EarlyWaits, OfGradientsHideBehindTheBackwardWork) {
  const AskedForWaits a(both(reductions<30>));
  ASSERT_EQ(a.waits.size(), 4U);
  EXPECT_EQ(a.saved(), Ns{58 * us});
}

// Messages of 150 behind 100 of compute: the second begins when the first ends at 251, and the
// third ends at 551 instead of 755.
TEST(EarlyWaits, MessagesStillGoOneAfterTheOther) {
  EXPECT_EQ(AskedForWaits(both(reductions<150>)).saved(), Ns{(755 - 551) * us});
}

// The thread waits for its oldest message because it has no memory for another.
EngineRank full_buckets() {
  EngineRank r(4, 0, 1000);
  r.pass("b", "backward", 0, 100);
  r.reduce("b", 101, 201);
  r.reduce("b", 103, 301);
  r.wait("reduce", 104, 201);
  r.reduce("b", 202, 401);
  r.pass("a", "backward", 203, 303);
  r.reduce("a", 304, 501);
  r.wait("reduce", 305, 501);
  r.update(502, 600);
  return r;
}
TEST(EarlyWaits, WhoWaitsForMemoryDoesNotWaitEarly) {
  EXPECT_TRUE(AskedForWaits(both(full_buckets)).waits.empty());
}

// Most of it is hidden already.
EngineRank late_wait() {
  EngineRank r(4, 0, 1000);
  r.pass("b", "backward", 0, 100);
  r.reduce("b", 101, 301);
  r.pass("a", "backward", 102, 202);
  r.wait("reduce", 203, 301);
  r.pass("x", "backward", 302, 402);
  r.update(403, 600);
  return r;
}
TEST(EarlyWaits, AWaitBehindWorkIsNone) {
  EXPECT_TRUE(AskedForWaits(both(late_wait)).waits.empty());
}

// Stages 1 and 2: the update shares parameters that the next step's passes read.
TEST(EarlyWaits, OfUpdatedParametersHideBehindTheRestOfTheUpdate) {
  const auto write = [] {
    EngineRank r(4, 0, 300);
    r.step(5, 300, 600);
    r.pass("a", "forward", 10, 20);
    r.update(100, 150);
    r.fetch("a", 151, 181);
    r.wait("gather", 152, 181);
    r.update(182, 290);
    r.pass("a", "forward", 310, 500);
    return r;
  };
  const AskedForWaits a(both(write));
  ASSERT_EQ(a.waits.size(), 2U);
  EXPECT_EQ(a.saved(), Ns{29 * us / 2});  // of two steps
}

}  // namespace
}  // namespace stepscope
