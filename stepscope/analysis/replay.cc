// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay.h"

#include <algorithm>

namespace stepscope {
namespace {

Ns step_of(std::span<const RankView> views, bool together) {
  Ns first = Ns::max();
  Ns last = Ns::min();
  Ns slowest{};
  std::size_t steps = 0;
  for (const RankView& view : views) {
    if (view.steps.empty()) continue;
    const Ns wall = view.steps.back().end - view.steps.front().start;
    first = std::min(first, view.steps.front().start);
    last = std::max(last, view.steps.back().end);
    steps = std::max(steps, view.steps.size());
    slowest = std::max(slowest, wall / std::ssize(view.steps));
  }
  if (steps == 0) return Ns{0};
  return together ? (last - first) / static_cast<std::int64_t>(steps) : slowest;
}

double ratio(Ns a, Ns b) {
  return b.count() == 0 ? 0 : static_cast<double>(a.count()) / static_cast<double>(b.count());
}

}  // namespace

Ns replay_step(const Replay& r, const NodeTimes& times, std::vector<Ns>& end) {
  end.resize(r.graph->size());
  replay(r.graph->graph, times.duration, times.delay, end);
  return step_time(*r.graph, times.duration, end);
}

Ns replay_edges(const StepGraph& graph, std::span<const Ns> instant, const NodeTimes& times,
                std::vector<GraphEdge> edges) {
  const std::size_t nodes = instant.size();
  const GraphOrder order = order_nodes(instant, edges);
  const ReplayGraph changed = make_graph(order, edges);
  NodeTimes ordered{std::vector<Ns>(nodes), std::vector<Ns>(nodes)};
  for (std::size_t i = 0; i < nodes; ++i) {
    ordered.duration[i] = times.duration[order.order[i]];
    ordered.delay[i] = times.delay[order.order[i]];
  }
  std::vector<Ns> end(nodes);
  replay(changed, ordered.duration, ordered.delay, end);
  std::vector<Ns> end_of(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) end_of[n] = end[order.position[n]];
  return step_time(graph, std::span(times.duration).first(graph.size()), end_of);
}

void keep_beginning(const Replay& r, NodeTimes& times) {
  for (const std::uint32_t begin : r.graph->begin)
    if (begin != no_node) times.delay[begin] = r.measured.delay[begin];
  for (std::uint32_t n = 0; n < r.graph->size(); ++n)
    if (r.graph->graph.preds_of(n).empty()) times.delay[n] = r.measured.delay[n];
}

Replay make_replay(const StepGraph& graph, std::span<const RankView> views) {
  Replay r;
  r.graph = &graph;
  r.measured = {graph.graph.duration, graph.graph.delay};
  r.step = replay_step(r, r.measured, r.end);
  r.start.resize(graph.size());
  r.movable.resize(graph.size());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    r.start[n] = r.end[n] - graph.graph.duration[n];
    const std::uint32_t begin = graph.begin[graph.view[n]];
    const Ns from = begin == no_node ? Ns{0} : r.end[begin] - graph.graph.duration[begin];
    r.movable[n] = r.start[n] >= from;
  }
  NodeTimes without = r.measured;
  for (std::size_t n = 0; n < graph.size(); ++n)
    if (r.movable[n]) without.delay[n] = Ns{0};
  keep_beginning(r, without);
  std::vector<Ns> end;
  r.step_without_residuals = replay_step(r, without, end);
  r.measured_step = step_of(views, graph.together);
  if (r.measured_step > Ns{0}) r.error = ratio(r.step, r.measured_step) - 1;
  if (r.step > Ns{0}) r.residual_share = 1 - ratio(r.step_without_residuals, r.step);
  return r;
}

}  // namespace stepscope
