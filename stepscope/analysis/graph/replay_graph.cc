// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/replay_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

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

// By instant, then by index. Nodes come rank by rank, each rank's nearly in order: they are dealt
// to short spans of time, and each span is sorted by itself. The time does not depend on the number
// of ranks.
std::vector<std::uint32_t> order_by_instant(std::span<const Ns> instant) {
  constexpr std::size_t of_span = 64;  // nodes on average
  std::vector<std::uint32_t> order(instant.size());
  std::iota(order.begin(), order.end(), 0U);
  if (instant.size() <= of_span || std::ranges::is_sorted(instant)) {
    std::ranges::stable_sort(order, {}, [&](std::uint32_t n) { return instant[n]; });
    return order;
  }
  const auto [low, high] = std::ranges::minmax(instant);
  const auto after = [&, first = low](Ns t) {
    return static_cast<std::uint64_t>(t.count()) - static_cast<std::uint64_t>(first.count());
  };
  const std::uint64_t span = after(high) / (instant.size() / of_span) + 1;
  std::vector<std::uint32_t> next(after(high) / span + 2);
  for (const Ns t : instant) ++next[after(t) / span + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::uint32_t n = 0; n < instant.size(); ++n) order[next[after(instant[n]) / span]++] = n;
  std::vector<std::pair<Ns, std::uint32_t>> own;
  auto at = order.begin();
  for (const std::uint32_t end : next) {  // now where a span ends
    own.clear();
    for (const auto last = order.begin() + end; at < last; ++at)
      own.emplace_back(instant[*at], *at);
    std::ranges::sort(own);
    std::ranges::transform(own, at - std::ssize(own), &std::pair<Ns, std::uint32_t>::second);
  }
  return order;
}

// Depth first along the predecessors.
class EdgeOrder {
 public:
  EdgeOrder(std::span<const Ns> instant, std::span<const GraphEdge> edges)
      : instant_(instant),
        edges_(edges),
        in_(group_edges(edges, instant.size(), &GraphEdge::to)),
        gone_(edges.size(), false) {
    result_.position.assign(instant.size(), no_node);
    result_.order.reserve(instant.size());
  }

  GraphOrder run(std::span<const std::uint32_t> preferred) {
    for (const std::uint32_t n : preferred) {
      if (result_.position[n] == no_node) enter(n, no_edge);
      while (!path_.empty()) go_on();
    }
    return std::move(result_);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& removed() const { return removed_; }

 private:
  static constexpr std::uint32_t no_edge = no_node;
  static constexpr std::uint32_t on_path = no_node - 1;  // a position

  // A node whose predecessors are placed first.
  struct Visit {
    std::uint32_t node = no_node;
    std::uint32_t by = no_edge;  // the edge to the node before it on the path
    std::uint32_t next = 0;      // in in_.other
  };
  void enter(std::uint32_t node, std::uint32_t by) {
    result_.position[node] = on_path;
    path_.push_back({node, by, in_.first[node]});
  }
  void go_on() {
    Visit& at = path_.back();
    if (at.next == in_.first[at.node + 1]) {
      result_.position[at.node] = static_cast<std::uint32_t>(result_.order.size());
      result_.order.push_back(at.node);
      path_.pop_back();
      return;
    }
    const std::uint32_t edge = in_.other[at.next++];
    const std::uint32_t from = edges_[edge].from;
    if (gone_[edge]) return;
    if (result_.position[from] == no_node)
      enter(from, edge);
    else if (result_.position[from] == on_path)
      break_circle(edge);
  }
  // `edge` leads from a node of the path to its last node. Removes the edge of this cycle that runs
  // against the clock most, and leaves the path from there on.
  void break_circle(std::uint32_t edge) {
    const auto against = [&](std::uint32_t e) {
      return instant_[edges_[e].from] - instant_[edges_[e].to];
    };
    std::uint32_t worst = edge;
    std::size_t first_left = path_.size();
    for (std::size_t i = path_.size(); path_[--i].node != edges_[edge].from;) {
      if (against(path_[i].by) <= against(worst)) continue;
      worst = path_[i].by;
      first_left = i;
    }
    gone_[worst] = true;
    removed_.push_back(worst);
    for (; path_.size() > first_left; path_.pop_back())
      result_.position[path_.back().node] = no_node;
  }

  std::span<const Ns> instant_;
  std::span<const GraphEdge> edges_;
  Grouped in_;  // edges by `to`
  std::vector<bool> gone_;
  std::vector<Visit> path_;
  std::vector<std::uint32_t> removed_;
  GraphOrder result_;
};

}  // namespace

GraphOrder order_nodes(std::span<const Ns> instant, std::vector<GraphEdge>& edges) {
  // Recorded nodes are mostly in order; a sort is enough then.
  GraphOrder result;
  result.order = order_by_instant(instant);
  const bool forward = std::ranges::all_of(edges, [&](const GraphEdge& e) {
    return instant[e.from] != instant[e.to] ? instant[e.from] < instant[e.to] : e.from < e.to;
  });
  if (forward) {
    result.position.resize(instant.size());
    for (std::uint32_t i = 0; i < instant.size(); ++i) result.position[result.order[i]] = i;
    return result;
  }
  EdgeOrder search(instant, edges);
  result = search.run(result.order);
  std::vector<std::uint32_t> removed = search.removed();
  std::ranges::sort(removed, std::greater<>{});
  for (const std::uint32_t e : removed) {
    edges[e] = edges.back();
    edges.pop_back();
  }
  result.removed = removed.size();
  return result;
}

ReplayGraph make_graph(const GraphOrder& order, std::span<const GraphEdge> edges) {
  const std::size_t nodes = order.order.size();
  ReplayGraph graph;
  std::vector<std::uint32_t>& next = graph.first_pred;
  next.assign(nodes + 1, 0);
  for (const GraphEdge& e : edges) ++next[order.position[e.to] + 1];
  for (std::size_t n = 0; n < nodes; ++n) next[n + 1] += next[n];
  graph.preds.resize(edges.size());
  for (const GraphEdge& e : edges)
    graph.preds[next[order.position[e.to]]++] = order.position[e.from];
  // Now next[n] is where the predecessors of n end. Repeated ones are dropped in place.
  std::uint32_t begin = 0;
  std::uint32_t kept = 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::span<std::uint32_t> preds = std::span(graph.preds).subspan(begin, next[n] - begin);
    begin = next[n];
    next[n] = kept;
    std::ranges::sort(preds);
    for (const std::uint32_t p : preds)
      if (kept == next[n] || graph.preds[kept - 1] != p) graph.preds[kept++] = p;
  }
  next[nodes] = kept;
  graph.preds.resize(kept);
  graph.preds.shrink_to_fit();
  graph.duration.assign(nodes, Ns{0});
  graph.work.assign(nodes, Ns{0});
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
    graph.work[n] = end[n] - ready_at(graph, end, n);
    if (graph.delay(n) < Ns{0}) ++negative;
  }
  return negative;
}

void ChangeWalk::next_of_several() {
  node_ = no_node;
  for (const auto& list : left_)
    if (!list.empty()) node_ = std::min(node_, list.front().node);
  std::optional<Ns> work;
  for (auto& list : left_) {
    if (list.empty() || list.front().node != node_) continue;
    const Ns own = less_ ? -list.front().work : list.front().work;
    work = !work ? own : sum_ ? *work + own : std::min(*work, own);
    list = list.subspan(1);
  }
  work_ = work.value_or(Ns{0});
}

Ns WorkChange::of(std::uint32_t node) const {
  WorkChange own;
  own.sum = sum;
  own.less = less;
  for (const auto& list : changes) {
    const auto at = std::ranges::lower_bound(list, node, {}, &NodeChange::node);
    if (at != list.end() && at->node == node) own.changes.push_back({at, at + 1});
  }
  return ChangeWalk(own).work();
}

void replay(const ReplayGraph& graph, std::span<const Ns> work, const WorkChange& change,
            std::span<Ns> end) {
  std::size_t n = 0;
  const auto go_to = [&](std::size_t last) {
    for (; n < last; ++n) end[n] = ready_at(graph, end, n) + work[n];
  };
  for (ChangeWalk walk(change); walk.node() != no_node; walk.next()) {
    go_to(walk.node() + std::size_t{1});
    end[walk.node()] += walk.work();
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

std::vector<Ns> slack(const ReplayGraph& graph, std::span<const Ns> end,
                      std::span<const std::uint32_t> sinks) {
  // The latest end of each node that does not move a sink.
  std::vector<Ns> latest(graph.size(), Ns::max());
  for (const std::uint32_t s : sinks) latest[s] = end[s];
  for (std::size_t n = graph.size(); n-- > 0;) {
    if (latest[n] == Ns::max()) continue;
    const Ns ready = latest[n] - graph.work[n];
    for (const std::uint32_t p : graph.preds_of(static_cast<std::uint32_t>(n)))
      latest[p] = std::min(latest[p], ready);
  }
  for (std::size_t n = 0; n < graph.size(); ++n)
    if (latest[n] != Ns::max()) latest[n] -= end[n];
  return latest;
}

}  // namespace stepscope
