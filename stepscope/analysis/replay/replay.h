// SPDX-License-Identifier: Apache-2.0
// A step graph with its measured times, ready for other durations and delays.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "stepscope/analysis/graph/replay_graph.h"
#include "stepscope/analysis/graph/step_graph.h"

namespace stepscope {

// Durations and delays, by node.
struct NodeTimes {
  std::vector<Ns> duration;
  std::vector<Ns> delay;
};

struct Replay {
  const StepGraph* graph = nullptr;
  struct {
    std::span<const Ns> duration;  // of the graph
    std::span<const Ns> work;      // duration + delay
    [[nodiscard]] Ns delay(std::uint32_t node) const { return work[node] - duration[node]; }
  } measured;
  ReplayProgram program;  // of the graph
  std::vector<Ns> end;    // measured, by node
  // By node: true if it began within the steps of its rank. Nodes that began earlier (a launch of
  // the first operation, the previous step) stay as they were in every replay. So does the
  // beginning.
  std::vector<bool> movable;
  std::array<std::vector<std::uint32_t>, node_kind_count> movable_of;  // by kind, ascending
  Ns step{};                                                           // replayed without changes
  Ns measured_step{};                                                  // from the steps themselves
  double error = 0;                                                    // step / measured_step − 1
  Ns step_without_residuals{};  // without the delays of movable nodes
  double residual_share = 0;  // 1 − step_without_residuals / step: time the graph does not explain

  [[nodiscard]] Ns start(std::uint32_t node) const { return end[node] - measured.duration[node]; }
};

// `graph` must outlive the result.
[[nodiscard]] Replay make_replay(const StepGraph& graph, std::span<const RankView> views);

// True for nodes that keep their delay because steps begin when they did: the first nodes of a step
// and nodes that wait for nothing.
[[nodiscard]] bool keeps_delay(const Replay& replay, std::uint32_t node);

[[nodiscard]] NodeTimes measured_times(const Replay& replay);
[[nodiscard]] std::vector<Ns> measured_starts(const Replay& replay);

// The time of a step with other edges; `edges` is the whole set. Nodes from graph.size() on are
// new. `instant`, the approximate start of each node, orders them.
[[nodiscard]] Ns replay_edges(const StepGraph& graph, std::span<const Ns> instant,
                              const NodeTimes& times, std::vector<GraphEdge> edges);

// The time of a step with other work (by node), which leaves kept delays as they are. `end` is
// scratch space for one instant per node.
[[nodiscard]] Ns replay_step(const Replay& replay, std::span<const Ns> work, std::vector<Ns>& end);

// The times of a step with each of several changes of `work` (by node). They leave kept delays as
// they are.
[[nodiscard]] std::vector<Ns> replay_steps(const Replay& replay, std::span<const Ns> work,
                                           std::span<const WorkChange> changes,
                                           unsigned threads = 1);
// The same with one change of the measured work.
[[nodiscard]] inline Ns replay_step(const Replay& replay, const WorkChange& change) {
  return replay_steps(replay, replay.measured.work, std::span(&change, 1)).front();
}

}  // namespace stepscope
