// SPDX-License-Identifier: Apache-2.0
// Work and what it waits for, as columns, and the replay of it:
//   start(n) = max over predecessors p of end(p) + delay(n)      (max of none = 0)
//   end(n)   = start(n) + duration(n)
// A delay is what a measured start lies behind its last predecessor; it stands for all that was not
// recorded, so that replaying what was measured gives the measured instants exactly. Durations and
// delays may be negative where clocks disagree; whoever builds a graph counts those.
//
// A collective is one node that joins its members: it has the members' arrivals as predecessors and
// is the only predecessor of their transfers (end = last arrival + own transfer, diagnosis 2.2).
//
// Nodes are in topological order: every predecessor has a smaller number. So a replay is one pass
// forward, O(nodes + edges), and slack is one pass backward.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

inline constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();

struct ReplayGraph {
  std::vector<std::uint32_t> first_pred;  // nodes + 1; of node n: preds [first[n], first[n + 1])
  std::vector<std::uint32_t> preds;
  std::vector<Ns> duration;
  std::vector<Ns> delay;

  [[nodiscard]] std::size_t size() const { return duration.size(); }
  [[nodiscard]] std::span<const std::uint32_t> preds_of(std::uint32_t node) const {
    return std::span(preds).subspan(first_pred[node], first_pred[node + 1] - first_pred[node]);
  }
};

// One edge of a graph in the making; nodes are numbered as its builder likes.
struct GraphEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

struct GraphOrder {
  std::vector<std::uint32_t> order;     // builder's number of the graph's node i
  std::vector<std::uint32_t> position;  // its inverse
  std::uint64_t removed = 0;            // edges that closed a circle
};

// Orders nodes by `instant` (measured start, one per node), where that agrees with the edges; else
// by Kahn's algorithm, of nodes that are ready the earliest first. Of each circle (broken clocks,
// wrong joins) the edge that runs against the clock most is removed from `edges`. O((nodes + edges)
// log nodes), and O(nodes) more for each circle.
[[nodiscard]] GraphOrder order_nodes(std::span<const Ns> instant, std::vector<GraphEdge>& edges);

// The graph with nodes renumbered by `order`; durations and delays are zero. Repeated edges are
// kept once.
[[nodiscard]] ReplayGraph make_graph(const GraphOrder& order, std::span<const GraphEdge> edges);

// Sets each delay so that `start` (measured, by node of the graph) comes out, with the durations
// that are set. Returns how many delays are negative.
std::uint64_t set_delays(ReplayGraph& graph, std::span<const Ns> start);

// Ends of all nodes, into `end` (as many as nodes).
void replay(const ReplayGraph& graph, std::span<const Ns> duration, std::span<const Ns> delay,
            std::span<Ns> end);
inline void replay(const ReplayGraph& graph, std::span<Ns> end) {
  replay(graph, graph.duration, graph.delay, end);
}

// A node that takes `work` longer: of its duration, its delay, or both.
struct NodeChange {
  std::uint32_t node = 0;
  Ns work{};
};

// The same with the graph's own times and these changes, by rising node.
void replay(const ReplayGraph& graph, std::span<const NodeChange> changes, std::span<Ns> end);

// Several replays of one graph at once (steps of a job, what-ifs): in lane l node n takes
// work[n][l] behind its predecessors and ends at end[n * lanes + l]. Nodes may share their row of
// `lanes` values; the graph's own durations and delays are not looked at.
void replay_lanes(const ReplayGraph& graph, std::size_t lanes, std::span<const Ns* const> work,
                  std::span<Ns> end);

// The predecessor that a node waited for: of those that ended last the one with the largest number;
// no_node without any.
[[nodiscard]] std::uint32_t latest_pred(const ReplayGraph& graph, std::span<const Ns> end,
                                        std::uint32_t node);

// Nodes from the first to `last`, each the predecessor that its successor waited for (of several
// that ended at once the one with the largest number).
[[nodiscard]] std::vector<std::uint32_t> critical_path(const ReplayGraph& graph,
                                                       std::span<const Ns> end, std::uint32_t last);

// How much later each node of a replay could end without moving any of `sinks`; Ns::max() for nodes
// that lead to none of them.
[[nodiscard]] std::vector<Ns> slack(const ReplayGraph& graph, std::span<const Ns> duration,
                                    std::span<const Ns> delay, std::span<const Ns> end,
                                    std::span<const std::uint32_t> sinks);

}  // namespace stepscope
