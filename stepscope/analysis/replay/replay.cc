// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/replay.h"

#include <algorithm>
#include <functional>

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

Ns replay_step(const Replay& r, std::span<const Ns> work, const WorkChange& change,
               std::vector<Ns>& end) {
  const StepGraph& graph = *r.graph;
  end.resize(graph.size());
  replay(graph.graph, work, change, end);
  return step_time(graph, end, [&](std::uint32_t begin) {
    return work[begin] - r.measured.delay(begin) + change.of(begin);
  });
}

Ns replay_edges(const StepGraph& graph, std::span<const Ns> instant, const NodeTimes& times,
                std::vector<GraphEdge> edges) {
  const std::size_t nodes = instant.size();
  const GraphOrder order = order_nodes(instant, edges);
  const ReplayGraph changed = make_graph(order, edges);
  std::vector<Ns> work;
  for (const std::uint32_t n : order.order) work.push_back(times.duration[n] + times.delay[n]);
  std::vector<Ns> end(nodes);
  replay(changed, work, {}, end);
  std::vector<Ns> end_of(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) end_of[n] = end[order.position[n]];
  return step_time(graph, std::span(times.duration).first(graph.size()), end_of);
}

bool keeps_delay(const Replay& r, std::uint32_t node) {
  return r.graph->begin[r.graph->view[node]] == node || r.graph->graph.preds_of(node).empty();
}

std::vector<std::vector<Step>> counted_steps(const Replay& r, std::span<const RankView> views) {
  const StepGraph& graph = *r.graph;
  std::vector<std::vector<Step>> all(views.size());
  const auto has_steps = [&](std::size_t view) {
    return !views[view].steps.empty() && graph.begin[view] != no_node;
  };
  const auto over_views = [&](std::size_t own, auto&& instant, auto&& of_two) {
    std::optional<Ns> at;
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (!has_steps(v) || (!graph.together && v != own)) continue;
      at = at ? of_two(*at, instant(v)) : instant(v);
    }
    return *at + graph.origin;
  };
  const auto later = [](Ns a, Ns b) { return std::max(a, b); };
  const auto earlier = [](Ns a, Ns b) { return std::min(a, b); };
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (!has_steps(v)) continue;
    std::optional<Ns> before;
    for (const StepEnd& step : graph.step_ends) {
      Ns end = over_views(v, [&](std::size_t view) { return step.measured[view]; }, later);
      if (before) end = std::max(end, *before);
      if (before && step.follows)
        all[v].push_back({.index = step.index, .name = {}, .start = *before, .end = end});
      before = end;
    }
    const auto as_many = [&](const RankView& view) {
      return view.steps.empty() || view.steps.size() == views[v].steps.size();
    };
    if (!all[v].empty() || !std::ranges::all_of(views, as_many)) continue;
    all[v].assign(views[v].steps.begin(), views[v].steps.end());
    for (std::size_t k = 1; k < all[v].size(); ++k) all[v][k - 1].end = all[v][k].start;
    const Ns first =
        over_views(v, [&](std::size_t view) { return r.start(graph.begin[view]); }, earlier);
    const Ns last = over_views(v, [&](std::size_t view) { return r.end[graph.end[view]]; }, later);
    std::erase_if(all[v], [&](const Step& s) { return s.end <= first || s.start >= last; });
    if (all[v].empty()) continue;
    all[v].front().start = first;
    all[v].back().end = last;
  }
  return all;
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
  r.step = replay_step(r, {}, r.end);
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
  std::vector<Ns> end;
  r.step_without_residuals = replay_step(r, without, {}, end);
  r.measured_step = measured_step_time(graph).value_or(step_of(views, graph.together));
  if (r.measured_step > Ns{0}) r.error = ratio(r.step, r.measured_step) - 1;
  if (r.step > Ns{0}) r.residual_share = 1 - ratio(r.step_without_residuals, r.step);
  return r;
}

}  // namespace stepscope
