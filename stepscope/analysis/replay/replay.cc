// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/replay.h"

#include <algorithm>
#include <array>
#include <functional>

#include "stepscope/base/crew.h"

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

Ns replay_step(const Replay& r, std::span<const Ns> work, std::vector<Ns>& end) {
  const StepGraph& graph = *r.graph;
  end.resize(graph.size());
  replay(graph.graph, work, {}, end);
  return step_time(
      graph, [&](std::uint32_t n) { return end[n]; },
      [&](std::uint32_t begin) { return work[begin] - r.measured.delay(begin); });
}

std::vector<Ns> replay_steps(const Replay& r, std::span<const Ns> work,
                             std::span<const WorkChange> changes, unsigned threads) {
  const StepGraph& graph = *r.graph;
  const std::vector<std::uint32_t> nodes = step_time_nodes(graph);
  std::vector<KeptEnd> kept;
  for (std::uint32_t place = 0; place < nodes.size(); ++place)
    kept.push_back({nodes[place], place});
  std::vector<Ns> times(changes.size());
  const std::size_t at_once =
      std::clamp<std::size_t>((changes.size() + threads - 1) / threads, 1, most_replays);
  parallel_for((changes.size() + at_once - 1) / at_once, threads, [&](std::size_t part) {
    const std::size_t first = part * at_once;
    const auto own = changes.subspan(first, std::min(at_once, changes.size() - first));
    std::vector<Ns> ends(nodes.size() * own.size());
    replay_changes(graph.graph, r.program, work, own, kept, ends);
    for (std::size_t l = 0; l < own.size(); ++l)
      times[first + l] = step_time(
          graph,
          [&](std::uint32_t n) {
            const auto place = std::ranges::lower_bound(nodes, n) - nodes.begin();
            return ends[static_cast<std::size_t>(place) * own.size() + l];
          },
          [&](std::uint32_t n) { return work[n] - r.measured.delay(n) + own[l].of(n); });
  });
  return times;
}

Ns replay_edges(const StepGraph& graph, std::span<const Ns> instant, const NodeTimes& times,
                std::vector<GraphEdge> edges) {
  const std::size_t nodes = instant.size();
  const OrderedGraph order = order_graph(instant, {}, std::move(edges));
  std::vector<Ns> work;
  for (const std::uint32_t n : order.order) work.push_back(times.duration[n] + times.delay[n]);
  std::vector<Ns> end(nodes);
  replay(order.graph, work, {}, end);
  std::vector<Ns> end_of(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) end_of[n] = end[order.position[n]];
  return step_time(graph, std::span(times.duration).first(graph.size()), end_of);
}

bool keeps_delay(const Replay& r, std::uint32_t node) {
  return r.graph->begin[r.graph->view[node]] == node || r.graph->graph.preds_of(node).empty();
}

NodeTimes measured_times(const Replay& r) {
  NodeTimes times{r.graph->graph.duration, r.graph->graph.work};
  for (std::size_t n = 0; n < times.delay.size(); ++n) times.delay[n] -= times.duration[n];
  return times;
}

std::vector<Ns> measured_starts(const Replay& r) {
  std::vector<Ns> starts(r.end.size());
  std::ranges::transform(r.end, r.measured.duration, starts.begin(), std::minus<>{});
  return starts;
}

Replay make_replay(const StepGraph& graph, std::span<const RankView> views) {
  Replay r;
  r.graph = &graph;
  r.measured = {graph.graph.duration, graph.graph.work};
  r.program = make_program(graph.graph);
  r.step = replay_step(r, r.measured.work, r.end);
  r.movable.resize(graph.size());
  std::array<std::size_t, node_kind_count> counts{};
  for (const NodeKind kind : graph.kind) ++counts[static_cast<std::size_t>(kind)];
  for (std::size_t k = 0; k < node_kind_count; ++k) r.movable_of[k].reserve(counts[k]);
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const std::uint32_t begin = graph.begin[graph.view[n]];
    const Ns from = begin == no_node ? Ns{0} : r.end[begin] - graph.graph.duration[begin];
    if (r.start(n) < from) continue;
    r.movable[n] = true;
    r.movable_of[static_cast<std::size_t>(graph.kind[n])].push_back(n);
  }
  std::vector<Ns> without = graph.graph.work;
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (r.movable[n] && !keeps_delay(r, n)) without[n] -= r.measured.delay(n);
  r.step_without_residuals = replay_steps(r, without, std::array{WorkChange{}}).front();
  r.measured_step = measured_step_time(graph).value_or(step_of(views, graph.clocks_comparable));
  if (r.measured_step > Ns{0}) r.error = ratio(r.step, r.measured_step) - 1;
  if (r.step > Ns{0}) r.residual_share = 1 - ratio(r.step_without_residuals, r.step);
  return r;
}

}  // namespace stepscope
