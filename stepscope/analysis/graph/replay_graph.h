// SPDX-License-Identifier: Apache-2.0
// Work and its dependencies as columns, and their replay:
//   start(n) = max over predecessors p of end(p) + delay(n)      (max of none = 0)
//   end(n)   = start(n) + duration(n)
// A delay is the time from the end of the last predecessor to the measured start. It stands for
// everything that was not recorded, so a replay of the measured times gives the measured instants
// exactly. Durations and delays may be negative if clocks disagree; the builder of a graph counts
// these.
//
// A collective is one node that joins its members. The members' arrivals are its predecessors, and
// it is the only predecessor of their transfers (end = last arrival + own transfer).
//
// Nodes are in topological order: every predecessor has a smaller index. A replay is therefore one
// pass forward, O(nodes + edges), and slack is one pass backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// The kinds of nodes of a step graph (step_graph.h).
enum class NodeKind : std::uint8_t {
  host,
  launch,
  sync,
  compute,
  copy,
  comm,  // not joined with its peers: wait and transfer together
  arrival,
  join,  // start condition of a transfer; its delay may be removed to replay without waiting
  transfer,
  wait,  // end condition of a synchronising call; its delay may be removed, too
  held,
  end  // of a rank's last step
};
inline constexpr auto node_kind_names = enum_names<NodeKind::end>;
inline constexpr std::size_t node_kind_count = node_kind_names.size();

inline constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();

struct ReplayGraph {
  std::vector<std::uint32_t> first_pred;  // nodes + 1; of node n: preds [first[n], first[n + 1])
  std::vector<std::uint32_t> preds;
  std::vector<Ns> duration;
  std::vector<Ns> work;  // duration + delay

  [[nodiscard]] Ns delay(std::size_t node) const { return work[node] - duration[node]; }
  [[nodiscard]] std::size_t size() const { return duration.size(); }
  [[nodiscard]] std::span<const std::uint32_t> preds_of(std::uint32_t node) const {
    return std::span(preds).subspan(first_pred[node], first_pred[node + 1] - first_pred[node]);
  }
};

// One edge of a graph under construction, in the builder's own numbering of nodes.
struct GraphEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

struct OrderedGraph {
  ReplayGraph graph;                    // durations and work are zero
  std::vector<std::uint32_t> order;     // builder's index of the graph's node i
  std::vector<std::uint32_t> position;  // its inverse
  std::uint64_t removed = 0;            // edges that closed a cycle
};

// Numbers nodes for replays. The nodes of a line (a rank's; `line` by node, empty: one line) are in
// the order of `instant` (measured start, one per node), and as many as possible follow each other:
// what a replay needs of a rank is then near in memory, however many ranks there are.
// Predecessors that seem later than their node are placed before it. From each cycle (broken
// clocks, wrong joins) the edge is removed that runs against the clock most. Repeated edges are
// kept once. A node's predecessors are in the order of instants. O((nodes + edges) log nodes), plus
// O(nodes) for each cycle.
[[nodiscard]] OrderedGraph order_graph(std::span<const Ns> instant,
                                       std::span<const std::uint32_t> line,
                                       std::vector<GraphEdge> edges, unsigned threads = 1);

// Sets each delay so that a replay with the set durations gives `start` (measured, by node of the
// graph). Returns the number of negative delays.
std::uint64_t set_delays(ReplayGraph& graph, std::span<const Ns> start, unsigned threads = 1);

// A node and the work that a change adds to it (WorkChange::less: takes from it).
struct NodeChange {
  std::uint32_t node = 0;
  Ns work{};
};

// Changes of work at once, each ascending by node.
struct WorkChange {
  std::vector<std::span<const NodeChange>> changes;
  bool sum = false;   // the changes of a node are added up, else only the smallest counts
  bool less = false;  // the changes shorten the nodes' work

  WorkChange() = default;
  WorkChange(const std::vector<NodeChange>& one) : changes{one} {}  // NOLINT: is one
  [[nodiscard]] Ns of(std::uint32_t node) const;                    // O(log changes)
};

// The nodes of a change, ascending; `change` need not outlive it, its lists must.
class ChangeWalk {
 public:
  explicit ChangeWalk(const WorkChange& change)
      : left_(change.changes), sum_(change.sum), less_(change.less) {
    next();
  }
  [[nodiscard]] std::uint32_t node() const { return node_; }  // no_node behind the last one
  [[nodiscard]] Ns work() const { return work_; }             // that it has more
  void next() {
    if (left_.size() != 1) return next_of_several();
    std::span<const NodeChange>& list = left_.front();
    node_ = list.empty() ? no_node : list.front().node;
    if (list.empty()) return;
    work_ = less_ ? -list.front().work : list.front().work;
    list = list.subspan(1);
  }

 private:
  void next_of_several();

  std::vector<std::span<const NodeChange>> left_;
  bool sum_;
  bool less_;
  std::uint32_t node_ = no_node;
  Ns work_{};
};

// Writes the ends of all nodes into `end` (one per node). `work` by node.
void replay(const ReplayGraph& graph, std::span<const Ns> work, const WorkChange& change,
            std::span<Ns> end);
inline void replay(const ReplayGraph& graph, std::span<Ns> end) {
  replay(graph, graph.work, {}, end);
}

// The predecessor that a node waited for: the one with the last end, of equal ends the last one in
// preds_of(); no_node without predecessors.
[[nodiscard]] std::uint32_t latest_pred(const ReplayGraph& graph, std::span<const Ns> end,
                                        std::uint32_t node);

// Nodes from the first to `last`, in which each successor waited for its predecessor (latest_pred).
[[nodiscard]] std::vector<std::uint32_t> critical_path(const ReplayGraph& graph,
                                                       std::span<const Ns> end, std::uint32_t last);

// By node: how much later it could end in a replay without moving any of `sinks`; Ns::max() for
// nodes that lead to none of them.
[[nodiscard]] std::vector<Ns> slack(const ReplayGraph& graph, std::span<const Ns> end,
                                    std::span<const std::uint32_t> sinks);

// Many replays of one graph at once. A node's end is needed until the last node that waits for it
// has begun. Its place in memory (a slot) is then used again, so the ends in use fit the caches
// whatever the size of the graph, and one look at a predecessor serves all replays.

struct ReplayProgram {
  std::vector<std::uint32_t> steps;  // of each node in turn: its slot, then its predecessors' slots
  std::uint32_t slots = 0;           // as many as there are ends in use at once
};

// O(nodes + edges).
[[nodiscard]] ReplayProgram make_program(const ReplayGraph& graph);

// Asks for the end of a node. If several nodes have one place, the last end counts.
struct KeptEnd {
  std::uint32_t node = 0;
  std::uint32_t place = 0;
};

inline constexpr std::size_t most_replays = 8;  // at once

// Replays each of up to `most_replays` changes of `work` (by node). `program` is of this graph.
// `kept`: ascending by node. Writes end[place * changes.size() + change]; Ns::min() at a place
// without a node.
void replay_changes(const ReplayGraph& graph, const ReplayProgram& program,
                    std::span<const Ns> work, std::span<const WorkChange> changes,
                    std::span<const KeptEnd> kept, std::span<Ns> end);

}  // namespace stepscope
