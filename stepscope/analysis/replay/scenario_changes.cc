// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/scenario_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/analysis/replay/fault_changes.h"
#include "stepscope/analysis/replay/stage_balance.h"
#include "stepscope/stats/lateness/excess.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Subtracted from the delay of a node that nothing waits for any more. Longer than any trace.
constexpr Ns never_waited = std::chrono::hours{24 * 365};
constexpr Ns hidden_wait = std::chrono::milliseconds{1};

Ns divided(Ns time, double factor) {
  return Ns{std::llround(static_cast<double>(time.count()) / factor)};
}

NameClass class_of(const WhatIfInputs& in, std::uint32_t node) {
  const StepGraph& graph = *in.replay.graph;
  if (graph.slice[node] == no_slice) return NameClass::other;
  return in.views[graph.view[node]].trace->slices.kind[index(graph.slice[node])];
}

const CollectiveCall* call_at(const WhatIfInputs& in, std::uint32_t node) {
  const StepGraph& graph = *in.replay.graph;
  const std::uint32_t row = graph.detail[node];
  return row == no_row ? nullptr : &in.collectives.matches.ranks[graph.view[node]].calls[row];
}

// Finds the nodes that a scenario changes.
class Changer {
 public:
  // `compute` may be null: then it is found when needed. `unsplit`: calls whose waiting and
  // transfer are one are all transfer, else all waiting.
  Changer(const WhatIfInputs& inputs, const Scenario& scenario, const ComputeOfClass* compute,
          bool unsplit = true)
      : in_(inputs),
        graph_(*inputs.replay.graph),
        scenario_(scenario),
        compute_(compute),
        unsplit_(unsplit) {}

  std::vector<NodeChange> run();

 private:
  // Calls visit(node) for each node of a kind that may change, ascending.
  template <class Visit>
  void each(NodeKind kind, Visit&& visit) {
    for (const std::uint32_t n : in_.replay.movable_of[static_cast<std::size_t>(kind)])
      if (of_rank(n)) visit(n);
  }
  [[nodiscard]] Ns duration(std::uint32_t node) const { return in_.replay.measured.duration[node]; }
  [[nodiscard]] Ns delay(std::uint32_t node) const { return in_.replay.measured.delay(node); }
  void take(std::uint32_t node, Ns new_duration) {
    if (new_duration != duration(node)) changes_.emplace_back(node, new_duration - duration(node));
  }
  // Changes duration and delay. A kept delay stays.
  void take(std::uint32_t node, Ns new_duration, Ns new_delay) {
    Ns work = new_duration - duration(node);
    if (!keeps_delay(in_.replay, node)) work += new_delay - delay(node);
    if (work != Ns{0}) changes_.emplace_back(node, work);
  }
  [[nodiscard]] bool of_rank(std::uint32_t node) const {
    return !scenario_.rank || in_.views[graph_.view[node]].rank == *scenario_.rank;
  }
  [[nodiscard]] const CollectiveCall* call_of(std::uint32_t node) const;
  [[nodiscard]] bool of_kind(std::uint32_t node) const;
  void free_communication();
  void scale_transfers();
  void scale_compute();
  [[nodiscard]] const RowTimes& row_times() {
    if (in_.row_times != nullptr) return *in_.row_times;
    if (!own_row_times_) own_row_times_ = find_row_times(in_.replay, in_.views, 1);
    return *own_row_times_;
  }
  void free_host();
  void free_rows();
  void as_peers();
  void as_peers(std::uint32_t view);
  void balance_ranks();

  const WhatIfInputs& in_;
  const StepGraph& graph_;
  const Scenario& scenario_;
  const ComputeOfClass* compute_;
  bool unsplit_;
  std::optional<RowTimes> own_row_times_;
  std::vector<NodeChange> changes_;
};

const CollectiveCall* Changer::call_of(std::uint32_t node) const { return call_at(in_, node); }

bool Changer::of_kind(std::uint32_t node) const { return concerns(in_, scenario_, node); }

void Changer::free_communication() {
  for (const NodeKind kind : {NodeKind::transfer, NodeKind::comm})
    each(kind, [&](std::uint32_t n) {
      if (of_kind(n) && (unsplit_ || kind == NodeKind::transfer)) take(n, Ns{0});
    });
}

// Transfers of a kind and group on a rank have the latency that their sizes show; with one size it
// is unknown, and all of the transfer counts as bandwidth. A message without bytes is all latency.
void Changer::scale_transfers() {
  using Key = std::tuple<std::uint32_t, CollectiveKind, std::uint32_t>;
  std::map<Key, TimesOfSizes> times;
  const auto bytes_of = [](const CollectiveCall& call) -> std::optional<std::int64_t> {
    if (call.kind == CollectiveKind::barrier) return 0;
    return call.bytes ? std::optional(call.bytes->value) : std::nullopt;
  };
  const auto key_of = [&](std::uint32_t n) {
    const CollectiveCall* call = call_of(n);
    return Key{graph_.view[n], call->kind, call->group};
  };
  each(NodeKind::transfer, [&](std::uint32_t n) {
    const auto bytes = bytes_of(*call_of(n));
    if (!bytes) return;
    const Ns time = std::max(Ns{0}, duration(n));
    const auto [at, fresh] = times[key_of(n)].try_emplace(*bytes, time);
    if (!fresh) at->second = std::min(at->second, time);
  });
  std::map<Key, Ns> latency;
  for (const auto& [key, of_key] : times) latency[key] = latency_of(of_key).value_or(Ns{0});
  each(NodeKind::transfer, [&](std::uint32_t n) {
    if (!of_kind(n) || duration(n) <= Ns{0}) return;
    const bool empty = bytes_of(*call_of(n)) == 0;
    const auto known = latency.find(key_of(n));
    const Ns fixed = empty                    ? duration(n)
                     : known == latency.end() ? Ns{0}
                                              : std::min(known->second, duration(n));
    const Ns rest = duration(n) - fixed;
    take(n, scenario_.change == Change::bandwidth ? fixed + divided(rest, scenario_.factor)
                                                  : divided(fixed, scenario_.factor) + rest);
  });
  if (unsplit_)
    each(NodeKind::comm, [&](std::uint32_t n) {
      if (of_kind(n)) take(n, divided(duration(n), scenario_.factor));
    });
}

void Changer::scale_compute() {
  const auto scale = [&](std::uint32_t n) {
    if (of_rank(n)) take(n, divided(duration(n), scenario_.factor));
  };
  if (!scenario_.kernel_class)
    return each(NodeKind::compute, [&](std::uint32_t n) {
      if (class_of(in_, n) != NameClass::wait) scale(n);  // a faster device waits as long
    });
  ComputeOfClass own;
  if (compute_ == nullptr) own = compute_of_class(in_);
  const ComputeOfClass& compute = compute_ == nullptr ? own : *compute_;
  const auto& nodes = compute[static_cast<std::size_t>(*scenario_.kernel_class)];
  changes_.reserve(nodes.size());
  for (const std::uint32_t n : nodes) scale(n);
}

void Changer::free_host() {
  // What the host loads and what it copies are causes of their own.
  const RowTimes& rows = row_times();
  auto data = rows.of(Change::data_free).begin();
  auto copies = rows.of(Change::copies_free).begin();
  const auto time_at = [](std::uint32_t n, auto& at, const std::vector<NodeChange>& times) {
    while (at != times.end() && at->node < n) ++at;
    return at != times.end() && at->node == n ? at->work : Ns{0};
  };
  each(NodeKind::host, [&](std::uint32_t n) {
    if (graph_.slice[n] == no_slice) return;
    const Ns kept = time_at(n, data, rows.of(Change::data_free)) +
                    time_at(n, copies, rows.of(Change::copies_free));
    const Ns left = std::min(kept, duration(n));
    const Ns time = duration(n) - left;
    take(n,
         left + (scenario_.change == Change::host_free ? Ns{0} : divided(time, scenario_.factor)));
  });
  if (scenario_.change == Change::host) return;
  each(NodeKind::launch, [&](std::uint32_t n) { take(n, Ns{0}, Ns{0}); });
}

void Changer::free_rows() {
  for (const NodeChange& c : row_times().of(scenario_.change))
    if (of_rank(c.node)) take(c.node, duration(c.node) - c.work);
}

WorkPart part_of(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::launch ? WorkPart::host : WorkPart::compute;
}

void Changer::as_peers() {
  if (scenario_.part == WorkPart::data) {
    changes_ = data_like_peers(in_, Changer(in_, {.change = Change::data_free}, nullptr).run(),
                               scenario_.rank.value_or(-1));
    return;
  }
  for (std::uint32_t v = 0; v < in_.views.size(); ++v)
    if (in_.views[v].rank == scenario_.rank) as_peers(v);
  each(NodeKind::held, [&](std::uint32_t n) {
    if (in_.medians.of_node[n] >= Ns{0} && scenario_.part != WorkPart::host)
      take(n, in_.medians.of_node[n], Ns{0});
  });
}

// A piece takes less by what it usually takes more than at the peers: in the median step, or in
// that of the steps from which on the rank takes more. So what varies from step to step stays.
void Changer::as_peers(std::uint32_t view) {
  const std::vector<NodeChange>& data = row_times().of(Change::data_free);
  const auto is_asked = [&](const StepPiece& p) {
    if (in_.medians.of_node[p.node] < Ns{0} || is_message(graph_.kind[p.node])) return false;
    if (!scenario_.part) return true;
    // Loading data is a part of its own.
    const auto loads = std::ranges::lower_bound(data, p.node, {}, &NodeChange::node);
    const bool is_data =
        loads != data.end() && loads->node == p.node && 2 * loads->work >= duration(p.node);
    return part_of(graph_.kind[p.node]) == *scenario_.part && !is_data;
  };
  std::vector<StepPiece> pieces;
  for (const StepPiece& p : in_.medians.pieces.of(view))
    if (is_asked(p)) pieces.push_back(p);
  std::ranges::sort(pieces, {}, [](const StepPiece& p) { return std::pair(p.key, p.step); });
  const auto more = [&](const StepPiece& p) {
    return static_cast<double>((time_of(in_.replay, p.node) - in_.medians.of_node[p.node]).count());
  };
  std::vector<double> of_step(in_.views[view].steps.size());
  for (const StepPiece& p : pieces)
    if (p.step >= 0) of_step[static_cast<std::size_t>(p.step)] += more(p);
  const std::size_t begin = begins_at(of_step);
  const auto since = static_cast<std::int32_t>(begin < of_step.size() ? begin : 0);
  std::vector<double> of_piece;
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t last = first;
    of_piece.clear();
    for (; last < pieces.size() && pieces[last].key == pieces[first].key; ++last)
      if (since == 0 || pieces[last].step >= since) of_piece.push_back(more(pieces[last]));
    const std::size_t from = last - first - of_piece.size();  // pieces are by step
    const Ns usual{std::llround(median(of_piece).value_or(0))};
    for (std::size_t i = first + from; i < last; ++i) {
      const std::uint32_t n = pieces[i].node;
      const Ns own = time_of(in_.replay, n);
      // If the rank is much faster, its peers may have waited for it in unrecorded ways.
      if (-usual > std::max(hidden_wait, 2 * own)) continue;
      take(n, std::max(Ns{0}, own - usual), Ns{0});
    }
    first = last;
  }
}

void Changer::balance_ranks() {
  std::size_t i = 0;
  for (const std::uint32_t n : in_.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
    const Ns mean = in_.medians.mean[i++];
    if (mean >= Ns{0} && of_rank(n)) take(n, mean);
  }
}

std::vector<NodeChange> Changer::run() {
  switch (scenario_.change) {
    case Change::no_waiting:
      each(NodeKind::join, [&](std::uint32_t n) { take(n, duration(n), -never_waited); });
      break;
    case Change::communication_free:
      free_communication();
      break;
    case Change::bandwidth:
    case Change::latency:
      scale_transfers();
      break;
    case Change::compute:
      scale_compute();
      break;
    case Change::host_free:
    case Change::host:
      free_host();
      break;
    case Change::data_free:
    case Change::allocator_free:
    case Change::collector_free:
    case Change::unseen_free:
    case Change::profiler_free:
      free_rows();
      break;
    case Change::sync_free:
      each(NodeKind::wait, [&](std::uint32_t n) {
        const RankView& view = in_.views[graph_.view[n]];
        if (view.index->cpu_only() || is_launch_call(view.trace->name(graph_.slice[n]))) return;
        take(n, duration(n), -never_waited);
      });
      break;
    case Change::syncs_once:
      changes_ = without_repeated_syncs(in_);
      break;
    case Change::pauses_free:
      changes_ = without_pauses(in_, find_pauses(in_));
      break;
    case Change::group_as_siblings:
      if (const auto group = group_named(in_, scenario_.group, scenario_.rank))
        changes_ = group_like_siblings(in_, *group);
      break;
    case Change::step_as_others:
      changes_ = step_like_others(in_, scenario_.step.value_or(-1));
      break;
    case Change::copies_free:
      each(NodeKind::copy, [&](std::uint32_t n) { take(n, Ns{0}); });
      free_rows();
      break;
    case Change::device_alone:
      each(NodeKind::held, [&](std::uint32_t n) { take(n, Ns{0}); });
      break;
    case Change::rank_as_peers:
      as_peers();
      break;
    case Change::stages_balanced:
      changes_ = balance_stages(in_);
      break;
    case Change::ranks_balanced:
      balance_ranks();
      break;
    case Change::bucket:
      check(false, "buckets are replayed by change_buckets");
      break;
    case Change::prefetch:
      break;
  }
  std::erase_if(changes_, [&](const NodeChange& c) { return !of_rank(c.node); });
  const auto before = [](const NodeChange& a, const NodeChange& b) { return a.node < b.node; };
  if (!std::ranges::is_sorted(changes_, before)) std::ranges::stable_sort(changes_, before);
  changes_.shrink_to_fit();
  return std::move(changes_);
}

}  // namespace

bool concerns(const WhatIfInputs& in, const Scenario& scenario, std::uint32_t node) {
  if (!scenario.kind) return true;
  const CollectiveCall* call = call_at(in, node);
  return call != nullptr && call->kind == *scenario.kind;
}

ComputeOfClass compute_of_class(const WhatIfInputs& in) {
  ComputeOfClass found;
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)])
    found[static_cast<std::size_t>(class_of(in, n))].push_back(n);
  return found;
}

std::vector<NodeChange> changes_of(const WhatIfInputs& inputs, const Scenario& scenario) {
  return changes_of(inputs, scenario, nullptr);
}

std::vector<NodeChange> changes_of(const WhatIfInputs& inputs, const Scenario& scenario,
                                   const ComputeOfClass* compute, bool unsplit) {
  return Changer(inputs, scenario, compute, unsplit).run();
}

}  // namespace stepscope
