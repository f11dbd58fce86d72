// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/step_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "stepscope/analysis/graph/step_graph_draft.h"
#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/message_size.h"
#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {

std::uint32_t add_call(ViewDraft& draft, const ViewInput& input, std::uint32_t call,
                       std::uint32_t& first) {
  const CollectiveCall& c = input.calls.calls[call];
  if (!input.joined[call]) {
    ++draft.unjoined;
    first = draft.add(NodeKind::comm, c.start, c.end, c.slice, call);
    return first;
  }
  const Ns ready = std::max(c.start, input.times[call].ready);
  first = draft.arrival[call] = draft.add(NodeKind::arrival, c.start, c.start, c.slice, call);
  const std::uint32_t node = draft.add(NodeKind::transfer, ready, c.end, c.slice, call);
  draft.edges.emplace_back(first, node);
  return draft.transfer[call] = node;
}

namespace {

// By view and call: true if the call and all its peers are inside the steps and split.
std::vector<std::vector<bool>> find_joined(std::span<const RankView> views,
                                           const Collectives& job) {
  const CollectiveMatches& matches = job.matches;
  std::vector<std::vector<bool>> joined;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const auto& calls = matches.ranks[v].calls;
    auto& row = joined.emplace_back(calls.size(), false);
    if (views[v].steps.empty()) continue;
    for (std::size_t c = 0; c < calls.size(); ++c)
      row[c] = job.times.by_view[v][c].split && calls[c].start >= views[v].steps.front().start &&
               calls[c].start < views[v].steps.back().end;
  }
  std::vector<std::vector<bool>> matched(joined.size());
  for (std::size_t v = 0; v < joined.size(); ++v) matched[v].assign(joined[v].size(), false);
  // A fused call is in several messages, so refusing one may refuse others.
  for (bool changed = true; changed;) {
    changed = false;
    for (const MatchedCollective& m : matches.matched) {
      const auto members = matches.members_of(m);
      const bool all = m.complete && std::ranges::all_of(members, [&](CollectiveMember x) {
                         return joined[x.view][x.call];
                       });
      for (const CollectiveMember x : members) {
        matched[x.view][x.call] = true;
        if (all || !joined[x.view][x.call]) continue;
        joined[x.view][x.call] = false;
        changed = true;
      }
    }
  }
  for (std::size_t v = 0; v < joined.size(); ++v)
    for (std::size_t c = 0; c < joined[v].size(); ++c)
      if (!matched[v][c]) joined[v][c] = false;
  return joined;
}

// Numbers the nodes in the order of their start.
void sort_by_start(ViewDraft& draft) {
  std::vector<std::uint32_t> order(draft.start.size());
  std::iota(order.begin(), order.end(), 0U);
  run_sort(order,
           [&](std::uint32_t a, std::uint32_t b) { return draft.start[a] < draft.start[b]; });
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto sorted = [&](auto& column) {
    auto old = column;
    for (std::size_t i = 0; i < order.size(); ++i) column[i] = old[order[i]];
  };
  sorted(draft.start);
  sorted(draft.duration);
  sorted(draft.kind);
  sorted(draft.slice);
  sorted(draft.detail);
  for (GraphEdge& e : draft.edges) e = {place[e.from], place[e.to]};
  const auto renumber = [&](std::uint32_t& node) {
    if (node != no_node) node = place[node];
  };
  for (auto* nodes : {&draft.arrival, &draft.transfer, &draft.step_end})
    std::ranges::for_each(*nodes, renumber);
  renumber(draft.begin);
  renumber(draft.end);
}

constexpr std::size_t many_views = 64;  // whose drafts fill hundreds of megabytes

template <class Column>
void append_and_free(Column& to, Column& from) {
  to.insert(to.end(), from.begin(), from.end());
  release(from);
}

// The nodes of all views in one numbering.
class GraphBuilder {
 public:
  GraphBuilder(std::span<const RankView> views, const Collectives& job, std::span<ViewDraft> drafts,
               unsigned threads)
      : views_(views), job_(job), drafts_(drafts), threads_(threads) {}

  StepGraph build() {
    reserve();
    for (std::uint32_t v = 0; v < views_.size(); ++v) append(v);
    offset_.push_back(static_cast<std::uint32_t>(start_.size()));
    if (views_.size() >= many_views) return_freed_memory();
    const auto& matched = job_.matches.matched;
    for (std::uint32_t i = 0; i < matched.size(); ++i)
      if (matched[i].complete) join(matched[i], i);
    out_.clocks_comparable = job_.matches.clocks_comparable || views_.size() == 1;
    find_step_ends();
    number();
    return std::move(out_);
  }

 private:
  void reserve() {
    std::size_t edges = 0;
    std::size_t nodes = 0;
    for (const ViewDraft& draft : drafts_) {
      nodes += draft.start.size();
      edges += draft.edges.size();
    }
    for (const MatchedCollective& m : job_.matches.matched) {
      nodes += is_rooted(m.kind) ? m.count : 1;
      edges += 2 * m.count;
    }
    start_.reserve(nodes);
    edges_.reserve(edges);
    out_.view.reserve(nodes);
  }
  void append(std::uint32_t view) {
    ViewDraft& draft = drafts_[view];
    const auto offset = static_cast<std::uint32_t>(start_.size());
    offset_.push_back(offset);
    out_.view.insert(out_.view.end(), draft.start.size(), view);
    for (GraphEdge& e : draft.edges) e = {offset + e.from, offset + e.to};
    append_and_free(start_, draft.start);
    append_and_free(edges_, draft.edges);
    out_.begin.push_back(draft.begin == no_node ? no_node : offset + draft.begin);
    out_.end.push_back(draft.end == no_node ? no_node : offset + draft.end);
    out_.steps.push_back(views_[view].steps.size());
    step_ends_.push_back(std::move(draft.step_end));
    for (std::uint32_t& n : step_ends_.back())
      if (n != no_node) n += offset;
    out_.unjoined += draft.unjoined;
  }
  void join(const MatchedCollective& m, std::uint32_t row) {
    const auto members = job_.matches.members_of(m);
    if (drafts_[members.front().view].arrival[members.front().call] == no_node) return;
    out_.joined += members.size();
    for (const CollectiveGate& gate : gates_of(views_, job_.matches, m))
      join_at(members, gate, row);
  }
  // One node after the arrivals that are awaited, before the transfers that wait for them.
  void join_at(std::span<const CollectiveMember> members, const CollectiveGate& gate,
               std::uint32_t row) {
    const auto node = static_cast<std::uint32_t>(start_.size());
    CollectiveMember last = members[gate.awaited.front()];
    for (const std::uint32_t i : gate.awaited) {
      edges_.emplace_back(arrival(members[i]), node);
      if (start_[arrival(members[i])] > start_[arrival(last)]) last = members[i];
    }
    start_.push_back(start_[arrival(last)]);
    out_.view.push_back(last.view);
    joins_.duration.push_back(Ns{0});
    joins_.kind.push_back(NodeKind::join);
    joins_.slice.push_back(no_slice);
    joins_.detail.push_back(row);
    for (const std::uint32_t i : gate.waiting) edges_.emplace_back(node, transfer(members[i]));
  }
  void number() {
    OrderedGraph order = order_graph(start_, out_.view, std::move(edges_), threads_);
    out_.removed_edges = order.removed;
    out_.graph = std::move(order.graph);
    take_columns(order.order);
    out_.origin = start_.empty() ? Ns{0} : *std::ranges::min_element(start_);
    for (Ns& t : start_) t -= out_.origin;
    const auto renumber = [&](std::vector<std::uint32_t>& nodes) {
      for (std::uint32_t& n : nodes)
        if (n != no_node) n = order.position[n];
    };
    renumber(out_.begin);
    renumber(out_.end);
    for (StepEnd& step : out_.step_ends) {
      renumber(step.node);
      for (Ns& t : step.measured) t -= out_.origin;
    }
    out_.negative_delays = set_delays(out_.graph, start_, threads_);
  }
  // The columns in the order of the graph. What the order does not need comes from where it was
  // drafted.
  void take_columns(std::span<const std::uint32_t> order) {
    std::vector<std::uint32_t> view = std::move(out_.view);
    std::vector<Ns> start = std::move(start_);
    for (auto* column : {&out_.view, &out_.detail})
      *column = std::vector<std::uint32_t>(view.size());
    out_.kind.resize(view.size());
    out_.slice.resize(view.size());
    start_ = std::vector<Ns>(view.size());
    parallel_stretches(order.size(), threads_, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const std::uint32_t n = order[i];
        const bool joins = n >= offset_.back();
        const ViewDraft& draft = joins ? joins_ : drafts_[view[n]];
        const std::uint32_t row = n - (joins ? offset_.back() : offset_[view[n]]);
        out_.view[i] = view[n];
        start_[i] = start[n];
        out_.kind[i] = draft.kind[row];
        out_.slice[i] = draft.slice[row];
        out_.detail[i] = draft.detail[row];
        out_.graph.duration[i] = draft.duration[row];
      }
    });
  }
  // The ends of the steps that every view with steps has, if all of them ran on a device.
  void find_step_ends() {
    const auto common = common_steps(views_, [&](std::size_t v, std::size_t s) {
      return s < step_ends_[v].size() && step_ends_[v][s] != no_node;
    });
    for (const CommonStep& step : common) {
      StepEnd end{.index = step.index,
                  .follows = step.follows,
                  .node = std::vector<std::uint32_t>(views_.size(), no_node),
                  .measured = std::vector<Ns>(views_.size())};
      for (std::size_t v = 0; v < views_.size(); ++v) {
        if (step.place[v] == no_place) continue;
        end.node[v] = step_ends_[v][step.place[v]];
        end.measured[v] = start_[end.node[v]];
      }
      out_.step_ends.push_back(std::move(end));
    }
  }
  [[nodiscard]] std::uint32_t arrival(CollectiveMember m) const {
    return offset_[m.view] + drafts_[m.view].arrival[m.call];
  }
  [[nodiscard]] std::uint32_t transfer(CollectiveMember m) const {
    return offset_[m.view] + drafts_[m.view].transfer[m.call];
  }

  std::span<const RankView> views_;
  const Collectives& job_;
  std::span<ViewDraft> drafts_;  // appended parts are freed
  unsigned threads_;
  ViewDraft joins_;  // of all views, behind their nodes; only what a node is
  StepGraph out_;
  std::vector<std::uint32_t> offset_;  // by view, then of the joins
  std::vector<Ns> start_;
  std::vector<GraphEdge> edges_;
  std::vector<std::vector<std::uint32_t>> step_ends_;  // by view and step
};

}  // namespace

StepGraph build_step_graph(std::span<const RankView> views, const Collectives& job,
                           const Workers& workers) {
  const auto joined = find_joined(views, job);
  std::vector<ViewDraft> drafts(views.size());
  std::vector<ViewInput> inputs;
  for (std::size_t v = 0; v < views.size(); ++v)
    inputs.push_back({views[v], job.matches.ranks[v], job.times.by_view[v], joined[v]});
  std::vector<std::optional<DeviceDraft>> parts(views.size());
  std::vector<std::vector<OrderedUse>> uses(views.size());
  shared_for(uses, workers, Distribution::blocks, [&](std::size_t v) {
    drafts[v].arrival.assign(joined[v].size(), no_node);
    if (views[v].steps.empty()) return;
    if (views[v].index->cpu_only())
      drafts[v] = draft_cpu_view(inputs[v]);
    else
      uses[v] = parts[v].emplace(inputs[v]).uses();
  });
  std::vector<std::vector<UseOrder>> orders = learn_order(uses, workers);
  release(uses);
  // The process that began a draft has its parts.
  shared_for(drafts, workers, Distribution::blocks, [&](std::size_t v) {
    if (parts[v]) drafts[v] = parts[v]->finish(orders[v]);
    parts[v].reset();
    release(orders[v]);
    sort_by_start(drafts[v]);
  });
  return GraphBuilder(views, job, drafts, workers.threads).build();
}

namespace {

// The mean time between the ends of steps that follow each other; absent without such steps. `at`
// gives the end of a step.
template <class At>
std::optional<Ns> mean_between(std::span<const StepEnd> steps, At&& at) {
  Ns sum{};
  std::int64_t count = 0;
  for (std::size_t k = 1; k < steps.size(); ++k) {
    if (!steps[k].follows) continue;
    sum += at(steps[k]) - at(steps[k - 1]);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// `at(step, view)` gives the end of a step on a view.
template <class At>
std::optional<Ns> mean_between_ends(const StepGraph& graph, At&& at) {
  if (graph.clocks_comparable)
    return mean_between(graph.step_ends, [&](const StepEnd& step) {
      Ns last = Ns::min();
      for (std::size_t v = 0; v < step.node.size(); ++v)
        if (step.node[v] != no_node) last = std::max(last, at(step, v));
      return last;
    });
  std::optional<Ns> slowest;
  for (std::size_t v = 0; v < graph.end.size(); ++v) {
    if (graph.step_ends.empty() || graph.step_ends.front().node[v] == no_node) continue;
    const auto mean =
        mean_between(graph.step_ends, [&](const StepEnd& step) { return at(step, v); });
    if (mean && (!slowest || *mean > *slowest)) slowest = mean;
  }
  return slowest;
}

}  // namespace

std::optional<Ns> measured_step_time(const StepGraph& graph) {
  return mean_between_ends(
      graph, [](const StepEnd& step, std::size_t view) { return step.measured[view]; });
}

std::vector<std::uint32_t> step_time_nodes(const StepGraph& graph) {
  std::vector<std::uint32_t> nodes(graph.begin);
  nodes.insert(nodes.end(), graph.end.begin(), graph.end.end());
  for (const StepEnd& step : graph.step_ends)
    nodes.insert(nodes.end(), step.node.begin(), step.node.end());
  std::ranges::sort(nodes);
  const auto [repeated, last] = std::ranges::unique(nodes);
  nodes.erase(repeated, last);
  if (!nodes.empty() && nodes.back() == no_node) nodes.pop_back();
  return nodes;
}

Ns step_time(const StepGraph& graph, const std::function<Ns(std::uint32_t)>& end_of,
             const std::function<Ns(std::uint32_t)>& duration_of) {
  const auto between = mean_between_ends(
      graph, [&](const StepEnd& step, std::size_t view) { return end_of(step.node[view]); });
  if (between) return *between;
  Ns first = Ns::max();
  Ns last = Ns::min();
  Ns slowest{};
  std::size_t steps = 0;
  for (std::size_t v = 0; v < graph.end.size(); ++v) {
    if (graph.begin[v] == no_node) continue;
    const Ns begin = end_of(graph.begin[v]) - duration_of(graph.begin[v]);
    const Ns until = end_of(graph.end[v]);
    first = std::min(first, begin);
    last = std::max(last, until);
    steps = std::max(steps, graph.steps[v]);
    slowest = std::max(slowest, (until - begin) / static_cast<std::int64_t>(graph.steps[v]));
  }
  if (steps == 0) return Ns{0};
  return graph.clocks_comparable ? (last - first) / static_cast<std::int64_t>(steps) : slowest;
}

}  // namespace stepscope
