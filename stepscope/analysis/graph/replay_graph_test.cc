// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/replay_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stepscope {
namespace {

std::vector<Ns> ns(std::initializer_list<int> values) {
  std::vector<Ns> out;
  for (const int v : values) out.emplace_back(v);
  return out;
}

// Two ranks: compute (0, 1), a collective (2) that joins them, transfers (3, 4), and an end (5).
ReplayGraph two_ranks(Ns compute0, Ns compute1) {
  OrderedGraph order =
      order_graph(ns({0, 0, 1, 2, 2, 3}), {}, {{0, 2}, {1, 2}, {2, 3}, {2, 4}, {3, 5}, {4, 5}});
  EXPECT_EQ(order.removed, 0U);
  ReplayGraph g = std::move(order.graph);
  g.work[order.position[0]] = compute0;
  g.work[order.position[1]] = compute1;
  g.work[order.position[3]] = g.work[order.position[4]] = Ns{10};
  return g;
}

TEST(ReplayGraph, ACollectiveWaitsForItsLastMember) {
  const ReplayGraph g = two_ranks(Ns{100}, Ns{130});
  std::vector<Ns> end(g.size());
  replay(g, end);
  EXPECT_EQ(end.back(), Ns{140});
  const auto path = critical_path(g, end, 5);
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(g.work[path[0]], Ns{130});
  const auto free = slack(g, end, path);
  EXPECT_EQ(*std::ranges::max_element(free), Ns{30});
  for (const std::uint32_t n : path) EXPECT_EQ(free[n], Ns{0});
}

TEST(ReplayGraph, CirclesAreBrokenAtTheEarliestNode) {
  const OrderedGraph order =
      order_graph(ns({5, 6, 7, 8}), {}, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 3}});
  EXPECT_EQ(order.order, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(order.removed, 2U);
  EXPECT_EQ(order.graph.preds, (std::vector<std::uint32_t>{0, 1, 2}));
}

struct RandomGraph {
  std::vector<GraphEdge> edges;
  std::vector<Ns> start;              // by node of the builder
  std::vector<std::uint32_t> line{};  // by node of the builder
  OrderedGraph ordered;
  ReplayGraph graph;
};

RandomGraph random_graph(std::uint32_t seed, std::uint32_t nodes) {
  std::mt19937 draw(seed);
  RandomGraph r;
  std::vector<std::uint32_t> hidden(nodes);  // a hidden order keeps it free of cycles
  for (std::uint32_t n = 0; n < nodes; ++n) hidden[n] = n;
  std::ranges::shuffle(hidden, draw);
  for (std::uint32_t e = 0; e < nodes * 2; ++e) {
    const auto a = static_cast<std::uint32_t>(draw() % nodes);
    const auto b = static_cast<std::uint32_t>(draw() % nodes);
    if (a != b) r.edges.push_back({hidden[std::min(a, b)], hidden[std::max(a, b)]});
  }
  for (std::uint32_t n = 0; n < nodes; ++n) r.start.emplace_back(draw() % 1000);
  for (std::uint32_t n = 0; n < nodes && seed % 2 == 0; ++n)
    r.line.push_back(static_cast<std::uint32_t>(draw() % 5));
  r.ordered = order_graph(r.start, r.line, r.edges);
  r.graph = r.ordered.graph;
  for (std::size_t n = 0; n < nodes; ++n) {
    r.graph.duration[n] = Ns{draw() % 100};
    r.graph.work[n] = r.graph.duration[n];
  }
  return r;
}

// The longest path to `node` by trying every path.
Ns longest(const ReplayGraph& g, std::uint32_t node) {
  Ns best{0};
  bool any = false;
  for (const std::uint32_t p : g.preds_of(node)) {
    const Ns to = longest(g, p);
    if (!any || to > best) best = to;
    any = true;
  }
  return best + g.work[node];
}

TEST(ReplayGraph, RandomGraphsHaveTheLongestPathThatTryingAllGives) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    RandomGraph r = random_graph(seed, 12);
    EXPECT_EQ(r.ordered.removed, 0U);
    std::mt19937 draw(seed);
    for (Ns& w : r.graph.work) w += Ns{draw() % 20};
    std::vector<Ns> end(r.graph.size());
    replay(r.graph, end);
    for (std::uint32_t n = 0; n < r.graph.size(); ++n) {
      ASSERT_EQ(end[n], longest(r.graph, n)) << seed;
      Ns along{0};
      for (const std::uint32_t p : critical_path(r.graph, end, n)) along += r.graph.work[p];
      ASSERT_EQ(along, end[n]);
    }
  }
}

TEST(ReplayGraph, MeasuredStartsAreReplayedExactly) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    RandomGraph r = random_graph(seed, 200);
    std::vector<Ns> start;
    for (const std::uint32_t n : r.ordered.order) start.push_back(r.start[n]);
    std::uint64_t negative = set_delays(r.graph, start);
    std::vector<Ns> end(r.graph.size());
    replay(r.graph, end);
    for (std::size_t n = 0; n < end.size(); ++n) {
      ASSERT_EQ(end[n] - r.graph.duration[n], start[n]);
      if (r.graph.delay(n) < Ns{0}) --negative;
    }
    EXPECT_EQ(negative, 0U);
  }
}

// Node 0 is in two cycles. Without one it still waits in the other.
TEST(ReplayGraph, SeveralCirclesThroughOneNodeAreAllBroken) {
  const std::vector<Ns> instant = {Ns{0}, Ns{5}, Ns{9}};
  const OrderedGraph order = order_graph(instant, {}, {{0, 1}, {1, 0}, {0, 2}, {2, 0}});
  EXPECT_EQ(order.removed, 2U);
  EXPECT_EQ(order.order, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(order.graph.preds.size(), 2U);
}

TEST(ReplayGraph, ALineGoesOnUntilItWaitsForAnother) {
  // Two lines of four nodes each, at the same times; node 2 waits for node 5.
  const auto instant = ns({0, 10, 20, 30, 0, 10, 20, 30});
  const std::vector<std::uint32_t> line = {0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<GraphEdge> edges = {{0, 1}, {1, 2}, {2, 3}, {4, 5}, {5, 6}, {6, 7}, {5, 2}};
  const OrderedGraph by_line = order_graph(instant, line, edges);
  EXPECT_EQ(by_line.order, (std::vector<std::uint32_t>{0, 1, 4, 5, 2, 3, 6, 7}));
  const OrderedGraph by_time = order_graph(instant, {}, edges);
  EXPECT_EQ(by_time.order, (std::vector<std::uint32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(ReplayGraph, EachLineIsInTheOrderOfTimeBehindItsPredecessors) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const RandomGraph r = random_graph(seed, 200);
    const OrderedGraph& o = r.ordered;
    for (const GraphEdge& e : r.edges) ASSERT_LT(o.position[e.from], o.position[e.to]) << seed;
    for (std::uint32_t i = 0; i < o.order.size(); ++i) ASSERT_EQ(o.position[o.order[i]], i);
    // Without a node before its predecessor in time, all lines are in the order of time.
    std::vector<Ns> start(r.start.size());
    for (std::uint32_t n = 0; n < start.size(); ++n) start[n] = Ns{o.position[n]};
    const OrderedGraph forward = order_graph(start, r.line, r.edges);
    std::vector<Ns> last(5, Ns::min());
    for (const std::uint32_t n : forward.order) {
      Ns& before = last[r.line.empty() ? 0 : r.line[n]];
      ASSERT_LT(before, start[n]) << seed;
      before = start[n];
    }
  }
}

TEST(ReplayGraph, ANodeBehindItsSuccessorIsMovedDirectlyBeforeIt) {
  const auto instant = ns({0, 10, 20, 30, 40});
  // Node 4 waits for node 3 and is moved before node 1 with it; node 2 stays behind.
  const OrderedGraph order = order_graph(instant, {}, {{0, 1}, {4, 1}, {3, 4}, {0, 2}, {1, 2}});
  EXPECT_EQ(order.order, (std::vector<std::uint32_t>{0, 3, 4, 1, 2}));
  EXPECT_EQ(order.removed, 0U);
  // One that is moved already stays where it is.
  const OrderedGraph twice = order_graph(instant, {}, {{4, 1}, {4, 2}, {3, 2}});
  EXPECT_EQ(twice.order, (std::vector<std::uint32_t>{0, 4, 1, 3, 2}));
}

TEST(ReplayGraph, PredecessorsAreInTheOrderOfTimeWhateverTheLines) {
  // Node 4 joins four lines whose order of time is 3, 1, 2, 0.
  const auto instant = ns({9, 4, 7, 1, 10});
  const OrderedGraph order = order_graph(instant, std::vector<std::uint32_t>{0, 1, 2, 3, 0},
                                         {{0, 4}, {1, 4}, {2, 4}, {3, 4}});
  std::vector<std::uint32_t> preds;
  for (const std::uint32_t p : order.graph.preds_of(order.position[4]))
    preds.push_back(order.order[p]);
  EXPECT_EQ(preds, (std::vector<std::uint32_t>{3, 1, 2, 0}));
  const std::vector<Ns> end(5, Ns{10});
  EXPECT_EQ(order.order[latest_pred(order.graph, end, order.position[4])], 0U);
}

TEST(ReplayGraph, SlackIsHowMuchANodeMayGrow) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    RandomGraph r = random_graph(seed, 30);
    std::vector<Ns> end(r.graph.size());
    replay(r.graph, end);
    const std::uint32_t sink = static_cast<std::uint32_t>(r.graph.size()) - 1;
    const std::vector<std::uint32_t> sinks = {sink};
    const auto free = slack(r.graph, end, sinks);
    for (std::size_t n = 0; n < free.size(); ++n) {
      std::vector<Ns> longer(r.graph.work);
      std::vector<Ns> moved(end.size());
      longer[n] += free[n] == Ns::max() ? Ns{100000} : free[n];
      replay(r.graph, longer, {}, moved);
      EXPECT_EQ(moved[sink], end[sink]);
      if (free[n] == Ns::max()) continue;
      longer[n] += Ns{1};
      replay(r.graph, longer, {}, moved);
      EXPECT_EQ(moved[sink], end[sink] + Ns{1});
    }
  }
}

TEST(ReplayGraph, ChangesReplayLikeTimesThatHoldThem) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RandomGraph r = random_graph(seed, 60);
    std::mt19937 draw(seed);
    std::vector<NodeChange> changes;
    std::vector<Ns> changed = r.graph.work;
    for (std::uint32_t n = 0; n < r.graph.size(); ++n) {
      if (draw() % 3 != 0) continue;
      changes.push_back({n, Ns{static_cast<std::int64_t>(draw() % 200) - 100}});
      changed[n] += changes.back().work;
    }
    std::vector<Ns> end(r.graph.size());
    std::vector<Ns> expected(r.graph.size());
    replay(r.graph, r.graph.work, changes, end);
    replay(r.graph, changed, {}, expected);
    EXPECT_EQ(end, expected) << seed;
  }
}

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
