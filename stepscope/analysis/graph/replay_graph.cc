// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/replay_graph.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "stepscope/base/release.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

struct Grouped {
  std::vector<std::uint32_t> first;  // by group, plus the end
  std::vector<std::uint32_t> member;
};

// The numbers 0 to count − 1, ascending in each of `groups` groups.
template <class GroupOf>
Grouped group_by(std::size_t count, std::size_t groups, GroupOf&& group_of) {
  Grouped g;
  g.first.assign(groups + 1, 0);
  g.member.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) ++g.first[group_of(i) + std::size_t{1}];
  std::partial_sum(g.first.begin(), g.first.end(), g.first.begin());
  std::vector<std::uint32_t> next(g.first.begin(), g.first.end() - 1);
  for (std::uint32_t i = 0; i < count; ++i) g.member[next[group_of(i)]++] = i;
  return g;
}

// Depth first along the predecessors.
class EdgeOrder {
 public:
  EdgeOrder(std::span<const Ns> instant, std::span<const GraphEdge> edges)
      : instant_(instant),
        edges_(edges),
        in_(group_by(edges.size(), instant.size(), [&](std::uint32_t e) { return edges[e].to; })),
        gone_(edges.size(), false),
        position_(instant.size(), no_node) {}

  // Returns each node's position.
  std::vector<std::uint32_t> run(std::span<const std::uint32_t> preferred) {
    for (const std::uint32_t n : preferred) {
      if (position_[n] == no_node) enter(n, no_edge);
      while (!path_.empty()) go_on();
    }
    return std::move(position_);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& removed() const { return removed_; }

 private:
  static constexpr std::uint32_t no_edge = no_node;
  static constexpr std::uint32_t on_path = no_node - 1;  // a position

  // A node whose predecessors are placed first.
  struct Visit {
    std::uint32_t node = no_node;
    std::uint32_t by = no_edge;  // the edge to the node before it on the path
    std::uint32_t next = 0;      // in in_.member
  };
  void enter(std::uint32_t node, std::uint32_t by) {
    position_[node] = on_path;
    path_.push_back({node, by, in_.first[node]});
  }
  void go_on() {
    Visit& at = path_.back();
    if (at.next == in_.first[at.node + 1]) {
      position_[at.node] = placed_++;
      path_.pop_back();
      return;
    }
    const std::uint32_t edge = in_.member[at.next++];
    const std::uint32_t from = edges_[edge].from;
    if (gone_[edge]) return;
    if (position_[from] == no_node)
      enter(from, edge);
    else if (position_[from] == on_path)
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
    for (; path_.size() > first_left; path_.pop_back()) position_[path_.back().node] = no_node;
  }

  std::span<const Ns> instant_;
  std::span<const GraphEdge> edges_;
  Grouped in_;  // edges by `to`
  std::vector<bool> gone_;
  std::vector<Visit> path_;
  std::vector<std::uint32_t> removed_;
  std::vector<std::uint32_t> position_;
  std::uint32_t placed_ = 0;
};

// The predecessors of each node, distinct and ascending by `before`.
template <class Before>
Grouped preds_of_nodes(std::size_t nodes, std::span<const GraphEdge> edges, Before&& before) {
  Grouped in = group_by(edges.size(), nodes, [&](std::uint32_t e) { return edges[e].to; });
  std::uint32_t begin = 0;
  std::uint32_t kept = 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    const std::span<std::uint32_t> preds =
        std::span(in.member).subspan(begin, in.first[n + 1] - begin);
    begin = in.first[n + 1];
    in.first[n] = kept;
    for (std::uint32_t& e : preds) e = edges[e].from;
    if (preds.size() > 1) std::ranges::sort(preds, before);
    for (const std::uint32_t p : preds)
      if (kept == in.first[n] || in.member[kept - 1] != p) in.member[kept++] = p;
  }
  in.first[nodes] = kept;
  in.member.resize(kept);
  return in;
}

// Each line goes on until a node waits for one of another line, which then goes on up to that one.
// `lines`: their nodes in an order that has no predecessor behind its node.
class LineOrder {
 public:
  LineOrder(const Grouped& lines, std::span<const std::uint32_t> line, const Grouped& preds)
      : lines_(lines),
        line_(line),
        preds_(preds),
        next_(lines.first.begin(), lines.first.end() - 1),
        position_(line.size(), no_node) {
    order_.reserve(line.size());
  }

  void run(std::vector<std::uint32_t>& order, std::vector<std::uint32_t>& position) {
    for (std::uint32_t l = 0; l < next_.size(); ++l) {
      if (next_[l] < lines_.first[l + 1]) enter(l, lines_.member[lines_.first[l + 1] - 1]);
      while (!path_.empty()) go_on();
    }
    order = std::move(order_);
    position = std::move(position_);
  }

 private:
  struct Visit {
    std::uint32_t line = 0;
    std::uint32_t until = no_node;  // it goes on up to this node
    std::uint32_t pred = 0;         // of its next node, in preds_.member
  };
  void enter(std::uint32_t line, std::uint32_t until) {
    path_.push_back({line, until, preds_.first[lines_.member[next_[line]]]});
  }
  void go_on() {
    Visit& at = path_.back();
    for (;;) {
      const std::uint32_t node = lines_.member[next_[at.line]];
      for (; at.pred < preds_.first[node + 1]; ++at.pred) {
        const std::uint32_t pred = preds_.member[at.pred];
        if (position_[pred] == no_node) return enter(line_[pred], pred);
      }
      position_[node] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(node);
      ++next_[at.line];
      if (node == at.until) return path_.pop_back();
      at.pred = preds_.first[lines_.member[next_[at.line]]];
    }
  }

  const Grouped& lines_;
  std::span<const std::uint32_t> line_;
  const Grouped& preds_;
  std::vector<std::uint32_t> next_;  // by line: in lines_.member
  std::vector<Visit> path_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> position_;
};

}  // namespace

OrderedGraph order_graph(std::span<const Ns> instant, std::span<const std::uint32_t> line,
                         std::vector<GraphEdge> edges) {
  const std::size_t nodes = instant.size();
  OrderedGraph result;
  // By node: its place in the order of time, where that is not the order of instants.
  std::vector<std::uint32_t> place;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (!place.empty()) return place[a] < place[b];
    return instant[a] != instant[b] ? instant[a] < instant[b] : a < b;
  };
  if (!std::ranges::all_of(edges, [&](const GraphEdge& e) { return before(e.from, e.to); })) {
    std::vector<std::uint32_t> by_instant(nodes);
    std::iota(by_instant.begin(), by_instant.end(), 0U);
    run_sort(by_instant, before);
    EdgeOrder search(instant, edges);
    place = search.run(by_instant);
    std::vector<std::uint32_t> removed = search.removed();
    std::ranges::sort(removed, std::greater<>{});
    for (const std::uint32_t e : removed) {
      edges[e] = edges.back();
      edges.pop_back();
    }
    result.removed = removed.size();
  }
  const Grouped preds = preds_of_nodes(nodes, edges, before);
  release(edges);
  const std::vector<std::uint32_t> one_line(line.empty() ? nodes : 0);
  if (line.empty()) line = one_line;
  const std::uint32_t count = nodes == 0 ? 0 : std::ranges::max(line) + 1;
  Grouped lines = group_by(nodes, count, [&](std::uint32_t n) { return line[n]; });
  for (std::uint32_t l = 0; l < count; ++l) {
    auto own = std::span(lines.member).subspan(lines.first[l], lines.first[l + 1] - lines.first[l]);
    run_sort(own, before);
  }
  LineOrder(lines, line, preds).run(result.order, result.position);
  ReplayGraph& graph = result.graph;
  graph.first_pred.reserve(nodes + 1);
  graph.preds.reserve(preds.member.size());
  graph.first_pred.push_back(0);
  for (const std::uint32_t n : result.order) {
    for (std::uint32_t p = preds.first[n]; p < preds.first[n + 1]; ++p)
      graph.preds.push_back(result.position[preds.member[p]]);
    graph.first_pred.push_back(static_cast<std::uint32_t>(graph.preds.size()));
  }
  graph.duration.assign(nodes, Ns{0});
  graph.work.assign(nodes, Ns{0});
  return result;
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
