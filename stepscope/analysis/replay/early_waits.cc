// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/early_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "stepscope/analysis/replay/gradient_traffic.h"
#include "stepscope/base/run_sort.h"

namespace stepscope {
namespace {

class EarlyWaitFinder {
 public:
  explicit EarlyWaitFinder(const WhatIfInputs& inputs)
      : in_(inputs),
        graph_(*inputs.replay.graph),
        computing_(inputs.views.size()),
        reader_(inputs.views.size()) {}

  std::vector<EarlyWait> find();

 private:
  void find_computing();
  void read_units();
  void read_gradients();
  void look_at(std::uint32_t sync);
  // The view's first compute node that begins at `at` (of the replay) or later.
  [[nodiscard]] std::uint32_t computes_from(std::uint32_t view, Ns at) const;
  // The same, or the previous node if it is still running at `at`.
  [[nodiscard]] std::uint32_t computes_at(std::uint32_t view, Ns at) const;

  const WhatIfInputs& in_;
  const StepGraph& graph_;
  std::vector<std::vector<std::uint32_t>> computing_;  // by view: nodes by start
  std::vector<std::vector<std::uint32_t>> reader_;     // by view and call
  std::vector<EarlyWait> found_;
};

void EarlyWaitFinder::find_computing() {
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (graph_.kind[n] == NodeKind::compute) computing_[graph_.view[n]].push_back(n);
  for (auto& nodes : computing_)
    run_sort(nodes, [&](std::uint32_t a, std::uint32_t b) {
      return in_.replay.start(a) < in_.replay.start(b);
    });
}

std::uint32_t EarlyWaitFinder::computes_from(std::uint32_t view, Ns at) const {
  const auto found = std::ranges::lower_bound(computing_[view], at, {},
                                              [&](auto n) { return in_.replay.start(n); });
  return found == computing_[view].end() ? no_node : *found;
}

std::uint32_t EarlyWaitFinder::computes_at(std::uint32_t view, Ns at) const {
  const auto& nodes = computing_[view];
  const auto after =
      std::ranges::lower_bound(nodes, at, {}, [&](auto n) { return in_.replay.start(n); });
  if (after != nodes.begin() && in_.replay.end[*(after - 1)] > at) return *(after - 1);
  return after == nodes.end() ? no_node : *after;
}

// Whether the engine recorded the call: its rows lie in one with the unit's name.
bool of_engine(const Trace& trace, const CollectiveCall& call) {
  const Slices& s = trace.slices;
  const std::uint32_t row = index(call.slice);
  return row > trace.track(s.track[row]).first && s.start[row - 1] == s.start[row] &&
         trace.name(SliceId{row - 1}).ends_with(" gradients");
}

// FSDP and DeepSpeed wait for units in rows of their own, which a user cannot remove.
void EarlyWaitFinder::read_units() {
  for (std::uint32_t v = 0; v < in_.units.size(); ++v)
    if (in_.units[v].marks.source == UnitSource::stepscope)
      for (const UnitUse& use : in_.units[v].marks.uses) {
        const std::uint32_t reader = computes_at(v, use.from - graph_.origin);
        for (const auto* calls : {&use.calls, &use.updates})
          for (const std::uint32_t c : *calls) reader_[v][c] = reader;
      }
}

void EarlyWaitFinder::read_gradients() {
  GradientTraffic own;
  if (in_.traffic == nullptr) own = find_gradient_traffic(in_);
  const GradientTraffic& traffic = in_.traffic == nullptr ? own : *in_.traffic;
  for (const GradientPass& pass : traffic.passes)
    for (const GradientMessage& message : pass.messages)
      for (const GradientMember& m : message.members) {
        const CollectiveCall& call =
            in_.collectives.matches.ranks[m.view].calls[graph_.detail[m.transfer]];
        if (!in_.views[m.view].index->cpu_only() ||
            !(m.in_hook || of_engine(*in_.views[m.view].trace, call)))
          continue;
        const auto& pieces = traffic.compute[m.view];
        const Ns done = in_.replay.end[m.transfer] + graph_.origin;
        auto at = std::ranges::lower_bound(pieces, done, {}, &ComputePiece::launched);
        while (at != pieces.end() &&
               (at->phase == Phase::backward || at->phase == Phase::recompute))
          ++at;
        reader_[m.view][graph_.detail[m.transfer]] =
            at == pieces.end() ? graph_.end[m.view] : at->node;
      }
}

void EarlyWaitFinder::look_at(std::uint32_t sync) {
  EarlyWait found{.view = graph_.view[sync], .sync = sync};
  Ns begin = Ns::min();
  for (const std::uint32_t p : graph_.graph.preds_of(sync)) {
    if (graph_.kind[p] == NodeKind::wait)
      found.wait = p;
    else
      begin = std::max(begin, in_.replay.end[p]);
  }
  if (found.wait == no_node || begin == Ns::min() || !in_.replay.movable[sync]) return;
  for (const std::uint32_t p : graph_.graph.preds_of(found.wait)) found.carrier = p;
  if (found.carrier == no_node || graph_.detail[found.carrier] == no_row) return;
  found.call = graph_.detail[found.carrier];
  found.begin = begin + graph_.origin;
  found.end = in_.replay.end[sync] + graph_.origin;
  found.reader = reader_[found.view][found.call];
  const auto& calls = in_.collectives.matches.ranks[found.view].calls;
  const CollectiveCall& call = calls[found.call];
  const bool others = found.call + 1 < calls.size() && calls[found.call + 1].start < found.end;
  const bool stood =
      (call.end - std::max(found.begin, call.start)) * 4 >= (call.end - call.start) * 3;
  const std::uint32_t next = computes_from(found.view, in_.replay.end[sync]);
  if (found.reader == no_node || others || !stood || next == no_node) return;
  if (in_.replay.start(next) < in_.replay.start(found.reader)) found_.push_back(found);
}

std::vector<EarlyWait> EarlyWaitFinder::find() {
  if (in_.phases.size() != in_.views.size()) return {};
  bool any = false;
  for (std::size_t v = 0; v < in_.views.size(); ++v) {
    reader_[v].assign(in_.collectives.matches.ranks[v].calls.size(), no_node);
    any = any || (in_.views[v].index->cpu_only() && !in_.views[v].steps.empty());
  }
  if (!any) return {};
  find_computing();
  read_gradients();
  read_units();
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (graph_.kind[n] == NodeKind::sync && in_.views[graph_.view[n]].index->cpu_only()) look_at(n);
  std::ranges::stable_sort(found_, {}, [](const EarlyWait& w) { return std::pair(w.view, w.end); });
  return std::move(found_);
}

// The calls of each group run in the order of submission.
void chain_calls(const WhatIfInputs& in, std::uint32_t view, NodeTimes& times,
                 std::vector<GraphEdge>& edges) {
  const StepGraph& graph = *in.replay.graph;
  const auto& calls = in.collectives.matches.ranks[view].calls;
  std::vector<std::uint32_t> last(calls.size(), no_node);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (graph.view[n] == view && graph.detail[n] != no_row &&
        (graph.kind[n] == NodeKind::transfer || graph.kind[n] == NodeKind::comm))
      last[graph.detail[n]] = n;
  std::map<std::uint32_t, std::uint32_t> before;  // by group
  for (std::uint32_t c = 0; c < calls.size(); ++c) {
    if (last[c] == no_node) continue;
    const auto [at, fresh] = before.try_emplace(calls[c].group, last[c]);
    const std::uint32_t from = std::exchange(at->second, last[c]);
    if (fresh || in.replay.end[from] > in.replay.start(last[c])) continue;
    edges.emplace_back(from, last[c]);
    times.delay[last[c]] =
        std::min(times.delay[last[c]], in.replay.start(last[c]) - in.replay.end[from]);
  }
}

}  // namespace

std::vector<EarlyWait> find_early_waits(const WhatIfInputs& inputs) {
  return EarlyWaitFinder(inputs).find();
}

Ns replay_without(const WhatIfInputs& in, std::span<const EarlyWait> waits,
                  std::optional<int> rank) {
  const StepGraph& graph = *in.replay.graph;
  NodeTimes times = measured_times(in.replay);
  std::vector<bool> gone(graph.size());  // removed waits
  std::vector<GraphEdge> edges;
  std::set<std::uint32_t> views;
  for (const EarlyWait& w : waits) {
    if (rank && in.views[w.view].rank != *rank) continue;
    gone[w.wait] = true;
    times.delay[w.sync] = Ns{0};
    edges.emplace_back(w.carrier, w.reader);
    views.insert(w.view);
  }
  for (const std::uint32_t v : views) chain_calls(in, v, times, edges);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    for (const std::uint32_t p : graph.graph.preds_of(n))
      if (!gone[p]) edges.emplace_back(p, n);
  return replay_edges(graph, measured_starts(in.replay), times, std::move(edges));
}

std::vector<EarlyWaitSum> sum_early_waits(const WhatIfInputs& in,
                                          std::span<const EarlyWait> waits) {
  std::map<int, EarlyWaitSum> of_rank;
  for (const EarlyWait& w : waits) {
    EarlyWaitSum& sum = of_rank[in.views[w.view].rank];
    ++sum.count;
    const Ns time = w.end - w.begin;
    sum.total += time;
    if (time <= sum.worst) continue;
    sum.worst = time;
    sum.worst_at = w.begin;
  }
  for (std::size_t v = 0; v < in.views.size(); ++v) {
    const auto at = of_rank.find(in.views[v].rank);
    if (at == of_rank.end()) continue;
    at->second.rank = in.views[v].rank;
    for (const CollectiveCall& c : in.collectives.matches.ranks[v].calls)
      if (c.step) ++at->second.collectives;
  }
  std::vector<EarlyWaitSum> sums;
  for (const auto& [rank, sum] : of_rank) sums.push_back(sum);
  std::ranges::stable_sort(sums, std::ranges::greater{}, &EarlyWaitSum::total);
  return sums;
}

}  // namespace stepscope
