// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/replay_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stepscope {
namespace {

struct Drawn {
  ReplayGraph graph;
  std::vector<std::vector<NodeChange>> lists;
  std::vector<WorkChange> changes;
};

// A graph whose nodes wait for up to four nodes at most `reach` before them, with changes of it.
Drawn draw_graph(std::uint32_t seed, std::uint32_t nodes, std::uint32_t reach) {
  std::mt19937 draw(seed);
  Drawn drawn;
  std::vector<Ns> instant;
  std::vector<GraphEdge> edges;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    instant.emplace_back(n);
    for (auto p = static_cast<std::uint32_t>(draw() % 5); n > 0 && p > 0; --p)
      edges.push_back({n - 1 - static_cast<std::uint32_t>(draw()) % std::min(n, reach), n});
  }
  drawn.graph = order_graph(instant, {}, std::move(edges)).graph;
  for (Ns& w : drawn.graph.work) w = Ns{static_cast<std::int64_t>(draw() % 200) - 50};
  const std::size_t replays = draw() % (most_replays + 1);
  drawn.lists.resize(replays * 2);
  for (auto& list : drawn.lists)
    for (std::uint32_t n = 0; n < nodes; ++n)
      if (draw() % 4 == 0) list.push_back({n, Ns{static_cast<std::int64_t>(draw() % 90) - 60}});
  for (std::size_t l = 0; l < replays; ++l) {
    WorkChange& change = drawn.changes.emplace_back(drawn.lists[2 * l]);
    if (draw() % 2 == 0) change.changes.emplace_back(drawn.lists[2 * l + 1]);
    change.sum = draw() % 2 == 0;
    change.less = draw() % 2 == 0;
  }
  return drawn;
}

TEST(ReplayProgram, EachChangeEndsAsInAReplayOfItsOwn) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Drawn drawn = draw_graph(seed, 120, 1 + seed % 30);
    const ReplayProgram program = make_program(drawn.graph);
    std::vector<KeptEnd> kept;
    for (std::uint32_t n = seed % 3; n < drawn.graph.size(); n += 1 + seed % 5)
      kept.push_back({n, static_cast<std::uint32_t>(kept.size())});
    std::vector<Ns> end(kept.size() * drawn.changes.size());
    replay_changes(drawn.graph, program, drawn.graph.work, drawn.changes, kept, end);
    std::vector<Ns> alone(drawn.graph.size());
    for (std::size_t l = 0; l < drawn.changes.size(); ++l) {
      replay(drawn.graph, drawn.graph.work, drawn.changes[l], alone);
      for (std::size_t k = 0; k < kept.size(); ++k)
        ASSERT_EQ(end[k * drawn.changes.size() + l], alone[kept[k].node]) << seed;
    }
  }
}

TEST(ReplayProgram, TheLastEndOfAPlaceCounts) {
  const Drawn drawn = draw_graph(7, 60, 10);
  std::vector<KeptEnd> kept;
  for (std::uint32_t n = 0; n < 60; ++n) kept.push_back({n, n % 2});
  std::vector<Ns> end(3);
  const std::vector<WorkChange> none(1);
  replay_changes(drawn.graph, make_program(drawn.graph), drawn.graph.work, none, kept, end);
  std::vector<Ns> alone(60);
  replay(drawn.graph, alone);
  for (std::size_t place = 0; place < 2; ++place) {
    Ns last = Ns::min();
    for (std::size_t n = place; n < 60; n += 2) last = std::max(last, alone[n]);
    EXPECT_EQ(end[place], last);
  }
  EXPECT_EQ(end[2], Ns::min());
}

TEST(ReplayProgram, SlotsAreUsedAgain) {
  const ReplayProgram program = make_program(draw_graph(3, 5000, 20).graph);
  EXPECT_LE(program.slots, 60U);
}

TEST(WorkChange, OfANodeIsWhatTheWalkGives) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Drawn drawn = draw_graph(seed, 40, 10);
    for (const WorkChange& change : drawn.changes) {
      ChangeWalk walk(change);
      for (std::uint32_t n = 0; n < 40; ++n) {
        EXPECT_EQ(change.of(n), walk.node() == n ? walk.work() : Ns{0}) << seed;
        if (walk.node() == n) walk.next();
      }
      EXPECT_EQ(walk.node(), no_node);
    }
  }
}

}  // namespace
}  // namespace stepscope
