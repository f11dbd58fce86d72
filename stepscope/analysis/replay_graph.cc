// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

// Edges grouped by one of their ends.
struct Grouped {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> other;
};

Grouped group(std::span<const GraphEdge> edges, std::size_t nodes, std::uint32_t GraphEdge::* by,
              std::uint32_t GraphEdge::* other) {
  Grouped g;
  g.first.assign(nodes + 1, 0);
  g.other.resize(edges.size());
  for (const GraphEdge& e : edges) ++g.first[e.*by + 1];
  for (std::size_t n = 0; n < nodes; ++n) g.first[n + 1] += g.first[n];
  std::vector<std::uint32_t> next(g.first.begin(), g.first.end() - 1);
  for (const GraphEdge& e : edges) g.other[next[e.*by]++] = e.*other;
  return g;
}

// By instant, then by number.
GraphOrder order_by_instant(std::span<const Ns> instant) {
  GraphOrder result;
  result.order.resize(instant.size());
  std::iota(result.order.begin(), result.order.end(), 0U);
  run_sort(result.order, [&](std::uint32_t a, std::uint32_t b) { return instant[a] < instant[b]; });
  result.position.resize(instant.size());
  for (std::uint32_t i = 0; i < instant.size(); ++i) result.position[result.order[i]] = i;
  return result;
}

// Kahn's order; of nodes that are ready the first of `preferred` goes first.
GraphOrder order_by_edges(std::span<const Ns> instant, std::vector<GraphEdge>& edges,
                          const GraphOrder& preferred) {
  const std::size_t nodes = instant.size();
  const Grouped out = group(edges, nodes, &GraphEdge::from, &GraphEdge::to);
  std::vector<std::uint32_t> waits(nodes, 0);
  for (const GraphEdge& e : edges) ++waits[e.to];
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t n = 0; n < nodes; ++n)
    if (waits[n] == 0) ready.push(preferred.position[n]);

  std::size_t looked_at = 0;  // places of `preferred` before it are done
  GraphOrder result;
  result.order.reserve(nodes);
  result.position.assign(nodes, no_node);
  while (result.order.size() < nodes) {
    if (ready.empty()) {
      while (result.position[preferred.order[looked_at]] != no_node) ++looked_at;
      ready.push(static_cast<std::uint32_t>(looked_at));
    }
    const std::uint32_t n = preferred.order[ready.top()];
    ready.pop();
    if (result.position[n] != no_node) continue;
    result.position[n] = static_cast<std::uint32_t>(result.order.size());
    result.order.push_back(n);
    for (std::uint32_t i = out.first[n]; i < out.first[n + 1]; ++i) {
      const std::uint32_t to = out.other[i];
      if (--waits[to] == 0 && result.position[to] == no_node) ready.push(preferred.position[to]);
    }
  }
  result.removed = std::erase_if(
      edges, [&](const GraphEdge& e) { return result.position[e.from] >= result.position[e.to]; });
  return result;
}

}  // namespace

GraphOrder order_nodes(std::span<const Ns> instant, std::vector<GraphEdge>& edges) {
  // What was recorded mostly is in order: then a sort will do.
  GraphOrder by_instant = order_by_instant(instant);
  const bool forward = std::ranges::all_of(edges, [&](const GraphEdge& e) {
    return by_instant.position[e.from] < by_instant.position[e.to];
  });
  return forward ? by_instant : order_by_edges(instant, edges, by_instant);
}

ReplayGraph make_graph(const GraphOrder& order, std::span<const GraphEdge> edges) {
  const std::size_t nodes = order.order.size();
  std::vector<GraphEdge> renumbered(edges.size());
  std::ranges::transform(edges, renumbered.begin(), [&](const GraphEdge& e) {
    return GraphEdge{order.position[e.from], order.position[e.to]};
  });
  Grouped in = group(renumbered, nodes, &GraphEdge::to, &GraphEdge::from);
  ReplayGraph graph;
  graph.first_pred.reserve(nodes + 1);
  graph.preds.reserve(edges.size());
  graph.first_pred.push_back(0);
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto begin = in.other.begin() + in.first[n];
    const auto end = in.other.begin() + in.first[n + 1];
    std::sort(begin, end);
    graph.preds.insert(graph.preds.end(), begin, std::unique(begin, end));
    graph.first_pred.push_back(static_cast<std::uint32_t>(graph.preds.size()));
  }
  graph.preds.shrink_to_fit();
  graph.duration.assign(nodes, Ns{0});
  graph.delay.assign(nodes, Ns{0});
  return graph;
}

namespace {

// Latest end of a node's predecessors, 0 of none.
Ns ready_at(const ReplayGraph& graph, std::span<const Ns> end, std::size_t node) {
  std::uint32_t i = graph.first_pred[node];
  const std::uint32_t last = graph.first_pred[node + 1];
  if (i == last) return Ns{0};
  Ns latest = end[graph.preds[i]];
  while (++i < last) latest = std::max(latest, end[graph.preds[i]]);
  return latest;
}

}  // namespace

std::uint64_t set_delays(ReplayGraph& graph, std::span<const Ns> start) {
  std::vector<Ns> end(graph.size());
  std::uint64_t negative = 0;
  for (std::size_t n = 0; n < graph.size(); ++n) {
    end[n] = start[n] + graph.duration[n];
    graph.delay[n] = start[n] - ready_at(graph, end, n);
    if (graph.delay[n] < Ns{0}) ++negative;
  }
  return negative;
}

void replay(const ReplayGraph& graph, std::span<const Ns> duration, std::span<const Ns> delay,
            std::span<Ns> end) {
  for (std::size_t n = 0; n < graph.size(); ++n)
    end[n] = ready_at(graph, end, n) + delay[n] + duration[n];
}

void replay_lanes(const ReplayGraph& graph, std::size_t lanes, std::span<const Ns* const> work,
                  std::span<Ns> end) {
  for (std::size_t n = 0; n < graph.size(); ++n) {
    Ns* const to = &end[n * lanes];
    const Ns* const own = work[n];
    const std::uint32_t* pred = graph.preds.data() + graph.first_pred[n];
    const std::uint32_t* const last = graph.preds.data() + graph.first_pred[n + 1];
    if (pred == last) {
      std::copy_n(own, lanes, to);
      continue;
    }
    const Ns* ready = &end[*pred * lanes];
    for (++pred; pred + 1 < last; ++pred) {
      const Ns* const other = &end[*pred * lanes];
      for (std::size_t l = 0; l < lanes; ++l) to[l] = std::max(ready[l], other[l]);
      ready = to;
    }
    const Ns* const other = pred < last ? &end[*pred * lanes] : ready;
    for (std::size_t l = 0; l < lanes; ++l) to[l] = std::max(ready[l], other[l]) + own[l];
  }
}

std::vector<std::uint32_t> critical_path(const ReplayGraph& graph, std::span<const Ns> end,
                                         std::uint32_t last) {
  std::vector<std::uint32_t> path = {last};
  for (auto preds = graph.preds_of(last); !preds.empty(); preds = graph.preds_of(path.back())) {
    std::uint32_t latest = preds.front();
    for (const std::uint32_t p : preds)
      if (end[p] >= end[latest]) latest = p;
    path.push_back(latest);
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<Ns> slack(const ReplayGraph& graph, std::span<const Ns> duration,
                      std::span<const Ns> delay, std::span<const Ns> end,
                      std::span<const std::uint32_t> sinks) {
  // Latest end of each node that moves no sink.
  std::vector<Ns> latest(graph.size(), Ns::max());
  for (const std::uint32_t s : sinks) latest[s] = end[s];
  for (std::size_t n = graph.size(); n-- > 0;) {
    if (latest[n] == Ns::max()) continue;
    const Ns ready = latest[n] - duration[n] - delay[n];
    for (const std::uint32_t p : graph.preds_of(static_cast<std::uint32_t>(n)))
      latest[p] = std::min(latest[p], ready);
  }
  for (std::size_t n = 0; n < graph.size(); ++n)
    if (latest[n] != Ns::max()) latest[n] -= end[n];
  return latest;
}

}  // namespace stepscope
