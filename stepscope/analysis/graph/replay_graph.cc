// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/replay_graph.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"
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

// The order of instants, in which a node whose successor seems earlier is moved directly before
// that one.
class TimeOrder {
 public:
  // Edges that close a cycle lose their beginning. `in`: the edges by the node they lead to.
  TimeOrder(std::span<const Ns> instant, std::span<GraphEdge> edges, const Grouped& in)
      : instant_(instant), edges_(edges), in_(in) {
    std::vector<std::uint32_t> late;  // nodes that have predecessors behind them
    for (const GraphEdge& e : edges)
      if (!begins_before(e.from, e.to)) late.push_back(e.to);
    if (late.empty()) return;
    run_sort(late, [&](std::uint32_t a, std::uint32_t b) { return begins_before(a, b); });
    number_.assign(instant.size(), no_node);
    for (const std::uint32_t n : late)
      if (number_[n] == no_node) place(n);
  }
  [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const {
    if (number_.empty()) return begins_before(a, b);
    const std::uint32_t at_a = place_of(a);
    const std::uint32_t at_b = place_of(b);
    return at_a == at_b ? number_[a] < number_[b] : begins_before(at_a, at_b);
  }
  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  static constexpr std::uint32_t no_edge = no_node;
  static constexpr std::uint32_t on_path = no_node - 1;  // a number

  // A node whose predecessors are placed first.
  struct Visit {
    std::uint32_t node = no_node;
    std::uint32_t by = no_edge;  // the edge to the node before it on the path
    std::uint32_t next = 0;      // in in_.member
  };
  [[nodiscard]] bool begins_before(std::uint32_t a, std::uint32_t b) const {
    return instant_[a] != instant_[b] ? instant_[a] < instant_[b] : a < b;
  }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t node) const {
    return number_[node] == no_node ? node : moved_before_[number_[node]];
  }
  void enter(std::uint32_t node, std::uint32_t by) {
    number_[node] = on_path;
    path_.push_back({node, by, in_.first[node]});
  }
  // Moves the predecessors that are behind `node`, depth first. The nodes before it are in order.
  void place(std::uint32_t node) {
    enter(node, no_edge);
    while (path_.size() > 1 || path_.front().next < in_.first[node + 1]) advance();
    path_.clear();
    number_[node] = no_node;
  }
  void advance() {
    Visit& at = path_.back();
    const std::uint32_t first = path_.front().node;
    if (at.next == in_.first[at.node + 1]) {
      number_[at.node] = static_cast<std::uint32_t>(moved_before_.size());
      moved_before_.push_back(first);
      path_.pop_back();
      return;
    }
    const std::uint32_t edge = in_.member[at.next++];
    const std::uint32_t from = edges_[edge].from;
    if (from == no_node) return;
    if (number_[from] == on_path)
      break_circle(edge);
    else if (number_[from] == no_node && begins_before(first, from))
      enter(from, edge);
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
    edges_[worst].from = no_node;
    ++removed_;
    for (; path_.size() > first_left; path_.pop_back()) number_[path_.back().node] = no_node;
  }

  std::span<const Ns> instant_;
  std::span<GraphEdge> edges_;
  const Grouped& in_;
  std::vector<std::uint32_t> number_;        // by node: of the moved ones, no_node of others
  std::vector<std::uint32_t> moved_before_;  // by number
  std::vector<Visit> path_;
  std::uint64_t removed_ = 0;
};

// Makes the edges to each node its predecessors, distinct and ascending by `before`. Edges without
// a beginning are left out.
template <class Before>
void become_preds(Grouped& in, std::span<const GraphEdge> edges, Before&& before) {
  std::uint32_t begin = 0;
  std::uint32_t kept = 0;
  for (std::size_t n = 0; n + 1 < in.first.size(); ++n) {
    const auto own = in.member.begin() + begin;
    auto last = own;
    for (std::uint32_t i = begin; i < in.first[n + 1]; ++i)
      if (const std::uint32_t from = edges[in.member[i]].from; from != no_node) *last++ = from;
    begin = in.first[n + 1];
    in.first[n] = kept;
    if (last - own > 1) std::sort(own, last, std::cref(before));
    for (auto p = own; p != last; ++p)
      if (kept == in.first[n] || in.member[kept - 1] != *p) in.member[kept++] = *p;
  }
  in.first.back() = kept;
  in.member.resize(kept);
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
      while (!path_.empty()) advance();
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
  void advance() {
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
                         std::vector<GraphEdge> edges, unsigned threads) {
  const std::size_t nodes = instant.size();
  OrderedGraph result;
  Grouped preds = group_by(edges.size(), nodes, [&](std::uint32_t e) { return edges[e].to; });
  const TimeOrder before(instant, edges, preds);
  result.removed = before.removed();
  become_preds(preds, edges, before);
  release(edges);
  const std::vector<std::uint32_t> one_line(line.empty() ? nodes : 0);
  if (line.empty()) line = one_line;
  const std::uint32_t count = nodes == 0 ? 0 : std::ranges::max(line) + 1;
  Grouped lines = group_by(nodes, count, [&](std::uint32_t n) { return line[n]; });
  parallel_for(count, threads, [&](std::size_t l) {
    auto own = std::span(lines.member).subspan(lines.first[l], lines.first[l + 1] - lines.first[l]);
    run_sort(own, std::cref(before));
  });
  LineOrder(lines, line, preds).run(result.order, result.position);
  ReplayGraph& graph = result.graph;
  graph.first_pred.resize(nodes + 1);
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::uint32_t n = result.order[i];
    graph.first_pred[i + 1] = graph.first_pred[i] + preds.first[n + 1] - preds.first[n];
  }
  graph.preds.resize(preds.member.size());
  parallel_stretches(nodes, threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t* of_node = preds.member.data() + preds.first[result.order[i]];
      for (std::uint32_t p = graph.first_pred[i]; p < graph.first_pred[i + 1]; ++p)
        graph.preds[p] = result.position[*of_node++];
    }
  });
  graph.duration.assign(nodes, Ns{0});
  graph.work.assign(nodes, Ns{0});
  return result;
}

namespace {

// Latest end of a node's predecessors; 0 without predecessors.
Ns ready_at(const ReplayGraph& graph, std::span<const Ns> end, std::size_t node) {
  std::uint32_t i = graph.first_pred[node];
  const std::uint32_t last = graph.first_pred[node + 1];
  if (i == last) return Ns{0};
  Ns latest = end[graph.preds[i]];
  while (++i < last) latest = std::max(latest, end[graph.preds[i]]);
  return latest;
}

}  // namespace

std::uint64_t set_delays(ReplayGraph& graph, std::span<const Ns> start, unsigned threads) {
  std::vector<Ns> end(graph.size());
  parallel_stretches(graph.size(), threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t n = first; n < last; ++n) end[n] = start[n] + graph.duration[n];
  });
  std::atomic<std::uint64_t> negative = 0;
  parallel_stretches(graph.size(), threads, [&](std::size_t first, std::size_t last) {
    std::uint64_t own = 0;
    for (std::size_t n = first; n < last; ++n) {
      graph.work[n] = end[n] - ready_at(graph, end, n);
      if (graph.delay(n) < Ns{0}) ++own;
    }
    negative += own;
  });
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

namespace {

// The ends of one node in all replays.
using Ends [[gnu::vector_size(most_replays * sizeof(std::int64_t))]] = std::int64_t;
// Allocators do not see the alignment of a vector type.
struct alignas(sizeof(Ends)) Slot {
  Ends ends;
};

// A graph while it is replayed.
struct State {
  const std::uint32_t* first_pred = nullptr;
  const std::uint32_t* step = nullptr;
  const Ns* work = nullptr;
  Slot* slots = nullptr;
  Ends* at = nullptr;    // of the node replayed last
  std::size_t node = 0;  // the next one
};

// Replays all nodes before `last`.
[[gnu::always_inline]] inline void go_to(State& state, std::size_t last) {
  const std::uint32_t* step = state.step;
  for (; state.node < last; ++state.node) {
    Ends* const own = &state.slots[*step++].ends;
    state.at = own;
    const std::uint32_t preds = state.first_pred[state.node + 1] - state.first_pred[state.node];
    Ends ready{};
    if (preds > 0) ready = state.slots[*step++].ends;
    for (std::uint32_t p = 1; p < preds; ++p) {
      const Ends other = state.slots[*step++].ends;
      ready = other > ready ? other : ready;
    }
    *own = ready + std::int64_t{state.work[state.node].count()};
  }
  state.step = step;
}

void go_to_baseline(State& state, std::size_t last) { go_to(state, last); }
STEPSCOPE_TARGET("avx2") void go_to_avx2(State& state, std::size_t last) { go_to(state, last); }
STEPSCOPE_TARGET("avx512f") void go_to_avx512(State& state, std::size_t last) {
  go_to(state, last);
}

auto go_to_of_cpu() {
  switch (isa()) {
    case Isa::avx512:
      return go_to_avx512;
    case Isa::avx2:
      return go_to_avx2;
    case Isa::baseline:
      break;
  }
  return go_to_baseline;
}

}  // namespace

ReplayProgram make_program(const ReplayGraph& graph) {
  // By node: the last one that waits for it.
  std::vector<std::uint32_t> last(graph.size(), no_node);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    for (const std::uint32_t p : graph.preds_of(n)) last[p] = n;
  ReplayProgram program;
  program.steps.reserve(graph.size() + graph.preds.size());
  std::vector<std::uint32_t> slot(graph.size());
  std::vector<std::uint32_t> free;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const auto preds = graph.preds_of(n);
    for (const std::uint32_t p : preds)
      if (last[p] == n) free.push_back(slot[p]);
    if (free.empty()) free.push_back(program.slots++);
    slot[n] = free.back();
    free.pop_back();
    if (last[n] == no_node) free.push_back(slot[n]);
    program.steps.push_back(slot[n]);
    for (const std::uint32_t p : preds) program.steps.push_back(slot[p]);
  }
  return program;
}

void replay_changes(const ReplayGraph& graph, const ReplayProgram& program,
                    std::span<const Ns> work, std::span<const WorkChange> changes,
                    std::span<const KeptEnd> kept, std::span<Ns> end) {
  const std::size_t lanes = changes.size();
  check(lanes <= most_replays, "a program replays a few changes at once");
  std::ranges::fill(end, Ns::min());
  std::vector<ChangeWalk> walks(changes.begin(), changes.end());
  std::uint32_t next = no_node;  // that a change stops at
  for (const ChangeWalk& w : walks) next = std::min(next, w.node());
  std::vector<Slot> slots(program.slots);
  State state{.first_pred = graph.first_pred.data(),
              .step = program.steps.data(),
              .work = work.data(),
              .slots = slots.data()};
  const auto replay_until = go_to_of_cpu();
  for (auto k = kept.begin(); k != kept.end();) {
    const std::uint32_t node = std::min(next, k->node);
    replay_until(state, node + std::size_t{1});
    Ends& at = *state.at;
    if (node == next) {
      next = no_node;
      for (std::size_t l = 0; l < lanes; ++l) {
        for (; walks[l].node() == node; walks[l].next()) at[l] += walks[l].work().count();
        next = std::min(next, walks[l].node());
      }
    }
    for (; k != kept.end() && k->node == node; ++k)
      for (std::size_t l = 0; l < lanes; ++l) {
        Ns& own = end[k->place * lanes + l];
        own = std::max(own, Ns{at[l]});
      }
  }
}

}  // namespace stepscope
