// SPDX-License-Identifier: Apache-2.0
// A step graph beside what was measured, ready for other durations and delays.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "stepscope/analysis/replay/step_graph.h"

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
    std::span<const Ns> delay;
  } measured;
  std::vector<Ns> start;  // measured, by node
  std::vector<Ns> end;
  // By node: whether it began within the steps of its rank. What began before them (a launch of the
  // first operation, the step before) stays as it was in every replay, and so does the beginning.
  std::vector<bool> movable;
  std::array<std::vector<std::uint32_t>, node_kind_count> movable_of;  // by kind, rising
  Ns step{};                                                           // replayed without a change
  Ns measured_step{};                                                  // from the steps themselves
  double error = 0;                                                    // step / measured_step − 1
  Ns step_without_residuals{};  // every delay of a movable node taken away
  double residual_share = 0;  // 1 − step_without_residuals / step: what the graph does not explain
};

// `graph` outlives the result.
[[nodiscard]] Replay make_replay(const StepGraph& graph, std::span<const RankView> views);

// Steps begin when they did: the nodes they begin with keep their delays, and so do all that wait
// for nothing.
[[nodiscard]] bool keeps_delay(const Replay& replay, std::uint32_t node);

[[nodiscard]] NodeTimes measured_times(const Replay& replay);

// The time of a step where other edges hold, `edges` all of them. Nodes from graph.size() on are
// new ones; `instant`, about when each node begins, orders them.
[[nodiscard]] Ns replay_edges(const StepGraph& graph, std::span<const Ns> instant,
                              const NodeTimes& times, std::vector<GraphEdge> edges);

// The time of a step with these changes, by rising node, none of them to a delay that is kept;
// `end` is room for one instant a node.
[[nodiscard]] Ns replay_step(const Replay& replay, std::span<const NodeChange> changes,
                             std::vector<Ns>& end);

}  // namespace stepscope
