// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/replay_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

struct Grouped {
  std::vector<std::uint32_t> first;  // by node, plus the end
  std::vector<std::uint32_t> other;
};

// Indices of edges grouped by one of their ends.
Grouped group_edges(std::span<const GraphEdge> edges, std::size_t nodes,
                    std::uint32_t GraphEdge::* by) {
  Grouped g;
  g.first.assign(nodes + 1, 0);
  g.other.resize(edges.size());
  for (const GraphEdge& e : edges) ++g.first[e.*by + 1];
  for (std::size_t n = 0; n < nodes; ++n) g.first[n + 1] += g.first[n];
  std::vector<std::uint32_t> next(g.first.begin(), g.first.end() - 1);
  for (std::uint32_t e = 0; e < edges.size(); ++e) g.other[next[edges[e].*by]++] = e;
  return g;
}

// By instant, then by index.
GraphOrder order_by_instant(std::span<const Ns> instant) {
  GraphOrder result;
  result.order.resize(instant.size());
  std::iota(result.order.begin(), result.order.end(), 0U);
  run_sort(result.order, [&](std::uint32_t a, std::uint32_t b) { return instant[a] < instant[b]; });
  result.position.resize(instant.size());
  for (std::uint32_t i = 0; i < instant.size(); ++i) result.position[result.order[i]] = i;
  return result;
}

// Kahn's order. Of ready nodes the first of `preferred` goes first.
class EdgeOrder {
 public:
  EdgeOrder(std::span<const Ns> instant, std::span<const GraphEdge> edges,
            const GraphOrder& preferred)
      : instant_(instant),
        edges_(edges),
        preferred_(preferred),
        in_(group_edges(edges, instant.size(), &GraphEdge::to)),
        out_(group_edges(edges, instant.size(), &GraphEdge::from)),
        gone_(edges.size(), false),
        waits_(instant.size(), 0),
        seen_(instant.size(), no_node) {
    result_.position.assign(instant.size(), no_node);
    result_.order.reserve(instant.size());
  }

  GraphOrder run() {
    for (const GraphEdge& e : edges_) ++waits_[e.to];
    for (std::uint32_t n = 0; n < instant_.size(); ++n)
      if (waits_[n] == 0) ready_.push(preferred_.position[n]);
    while (result_.order.size() < instant_.size()) {
      while (ready_.empty()) break_circle();
      const std::uint32_t n = preferred_.order[ready_.top()];
      ready_.pop();
      result_.position[n] = static_cast<std::uint32_t>(result_.order.size());
      result_.order.push_back(n);
      for (std::uint32_t i = out_.first[n]; i < out_.first[n + 1]; ++i)
        if (!gone_[out_.other[i]]) release(out_.other[i]);
    }
    return std::move(result_);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& removed() const { return removed_; }

 private:
  void release(std::uint32_t edge) {
    gone_[edge] = true;
    const std::uint32_t to = edges_[edge].to;
    if (--waits_[to] == 0) ready_.push(preferred_.position[to]);
  }
  // Walks back from the first remaining node until a node repeats: a cycle. Removes its edge that
  // runs against the clock most.
  void break_circle() {
    while (result_.position[preferred_.order[looked_at_]] != no_node) ++looked_at_;
    ++round_;
    std::vector<std::uint32_t> way;
    std::uint32_t node = preferred_.order[looked_at_];
    while (seen_[node] != round_) {
      seen_[node] = round_;
      std::uint32_t i = in_.first[node];
      while (gone_[in_.other[i]]) ++i;
      way.push_back(in_.other[i]);
      node = edges_[way.back()].from;
    }
    const auto against = [&](std::uint32_t edge) {
      return instant_[edges_[edge].from] - instant_[edges_[edge].to];
    };
    std::uint32_t worst = way.back();
    for (auto i = way.size(); i-- > 0;) {
      if (against(way[i]) > against(worst)) worst = way[i];
      if (edges_[way[i]].to == node) break;
    }
    removed_.push_back(worst);
    release(worst);
  }

  std::span<const Ns> instant_;
  std::span<const GraphEdge> edges_;
  const GraphOrder& preferred_;
  Grouped in_;   // edges by `to`
  Grouped out_;  // edges by `from`
  std::vector<bool> gone_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t round_ = 0;
  std::size_t looked_at_ = 0;  // places of `preferred_` before it are done
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready_;
  std::vector<std::uint32_t> removed_;
  GraphOrder result_;
};

GraphOrder order_by_edges(std::span<const Ns> instant, std::vector<GraphEdge>& edges,
                          const GraphOrder& preferred) {
  EdgeOrder order(instant, edges, preferred);
  GraphOrder result = order.run();
  std::vector<std::uint32_t> removed = order.removed();
  std::ranges::sort(removed, std::greater<>{});
  for (const std::uint32_t e : removed) {
    edges[e] = edges.back();
    edges.pop_back();
  }
  result.removed = removed.size();
  return result;
}

}  // namespace

GraphOrder order_nodes(std::span<const Ns> instant, std::vector<GraphEdge>& edges) {
  // Recorded nodes are mostly in order; a sort is enough then.
  GraphOrder by_instant = order_by_instant(instant);
  const bool forward = std::ranges::all_of(edges, [&](const GraphEdge& e) {
    return by_instant.position[e.from] < by_instant.position[e.to];
  });
  return forward ? by_instant : order_by_edges(instant, edges, by_instant);
}

ReplayGraph make_graph(const GraphOrder& order, std::span<const GraphEdge> edges) {
  const std::size_t nodes = order.order.size();
  ReplayGraph graph;
  std::vector<std::uint32_t> next(nodes + 1, 0);
  for (const GraphEdge& e : edges) ++next[order.position[e.to] + 1];
  for (std::size_t n = 0; n < nodes; ++n) next[n + 1] += next[n];
  std::vector<std::uint32_t> first = next;
  std::vector<std::uint32_t> preds(edges.size());
  for (const GraphEdge& e : edges) preds[next[order.position[e.to]]++] = order.position[e.from];
  graph.first_pred.reserve(nodes + 1);
  graph.preds.reserve(edges.size());
  graph.first_pred.push_back(0);
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto begin = preds.begin() + first[n];
    const auto end = preds.begin() + first[n + 1];
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

// Latest end of a node's predecessors; 0 if it has none.
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

void replay(const ReplayGraph& graph, std::span<const NodeChange> changes, std::span<Ns> end) {
  std::size_t n = 0;
  const auto go_to = [&](std::size_t last) {
    for (; n < last; ++n) end[n] = ready_at(graph, end, n) + graph.delay[n] + graph.duration[n];
  };
  for (const NodeChange& c : changes) {
    go_to(c.node + std::size_t{1});
    end[c.node] += c.work;
  }
  go_to(graph.size());
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

std::uint32_t latest_pred(const ReplayGraph& graph, std::span<const Ns> end, std::uint32_t node) {
  std::uint32_t latest = no_node;
  for (const std::uint32_t p : graph.preds_of(node))
    if (latest == no_node || end[p] >= end[latest]) latest = p;
  return latest;
}

std::vector<std::uint32_t> critical_path(const ReplayGraph& graph, std::span<const Ns> end,
                                         std::uint32_t last) {
  std::vector<std::uint32_t> path;
  for (std::uint32_t node = last; node != no_node; node = latest_pred(graph, end, node))
    path.push_back(node);
  std::ranges::reverse(path);
  return path;
}

std::vector<Ns> slack(const ReplayGraph& graph, std::span<const Ns> duration,
                      std::span<const Ns> delay, std::span<const Ns> end,
                      std::span<const std::uint32_t> sinks) {
  // The latest end of each node that does not move a sink.
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
