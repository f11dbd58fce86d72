// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>

#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/collectives/message_latency.h"
#include "stepscope/analysis/replay/bucket_change.h"
#include "stepscope/analysis/replay/early_waits.h"
#include "stepscope/analysis/replay/fault_changes.h"
#include "stepscope/analysis/replay/stage_balance.h"
#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/stats/excess.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Subtracted from the delay of a node that nothing waits for any more. Longer than any trace.
constexpr Ns never_waited = std::chrono::hours{24 * 365};
constexpr std::size_t most_ranks = 16;
constexpr Ns hidden_wait = std::chrono::milliseconds{1};
constexpr double worth_saving = 0.01;  // of a step

Ns divided(Ns time, double factor) {
  return Ns{std::llround(static_cast<double>(time.count()) / factor)};
}

using ComputeOfClass = std::array<std::vector<std::uint32_t>, name_class_count>;

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

// Whether the node is of the kind of collective that the scenario changes.
bool concerns(const WhatIfInputs& in, const Scenario& scenario, std::uint32_t node) {
  if (!scenario.kind) return true;
  const CollectiveCall* call = call_at(in, node);
  return call != nullptr && call->kind == *scenario.kind;
}

// Compute nodes that may change, ascending.
ComputeOfClass compute_of_class(const WhatIfInputs& in) {
  ComputeOfClass found;
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)])
    found[static_cast<std::size_t>(class_of(in, n))].push_back(n);
  return found;
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

// Transfers of a kind and group on a rank have the latency that their sizes tell; of one size it is
// unknown, and all of the transfer counts as bandwidth. A message without bytes is all latency.
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
// those from which on it does. So what varies from step to step stays.
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
  std::vector<double> more;
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t last = first;
    more.clear();
    for (; last < pieces.size() && pieces[last].key == pieces[first].key; ++last)
      more.push_back(static_cast<double>(
          (in_.replay.measured.work[pieces[last].node] - in_.medians.of_node[pieces[last].node])
              .count()));
    const std::size_t begin = begins_at(more);
    const std::size_t from = begin < more.size() ? begin : 0;
    const Ns usual{std::llround(median(std::span(more).subspan(from)).value_or(0))};
    for (std::size_t i = first + from; i < last; ++i) {
      const std::uint32_t n = pieces[i].node;
      const Ns own = in_.replay.measured.work[n];
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

// Causes that could vanish completely; "every cause removed" removes these.
constexpr std::array causes = {Change::communication_free, Change::host_free,    Change::data_free,
                               Change::copies_free,        Change::device_alone, Change::sync_free,
                               Change::no_waiting};

double share(Ns part, Ns whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

WhatIf with_buckets(const WhatIfInputs& in, const GradientBuckets& buckets,
                    const Scenario& scenario) {
  BucketAnswer answer = change_buckets(in, buckets, *scenario.size);
  WhatIf r{.scenario = scenario, .step = answer.step, .removed = {}, .added = {}};
  r.saved = in.replay.step - r.step;
  r.shortest_step = answer.shortest;
  r.nodes = answer.nodes;
  r.refused = std::move(answer.refused);
  r.notes = std::move(answer.notes);
  return r;
}

std::vector<Scenario> standing_scenarios(const WhatIfInputs& in) {
  std::vector<Scenario> list = {{.change = Change::no_waiting},
                                {.change = Change::communication_free},
                                {.change = Change::bandwidth, .factor = 2},
                                {.change = Change::latency, .factor = 2},
                                {.change = Change::host_free},
                                {.change = Change::data_free},
                                {.change = Change::allocator_free},
                                {.change = Change::collector_free},
                                {.change = Change::profiler_free},
                                {.change = Change::sync_free},
                                {.change = Change::copies_free},
                                {.change = Change::device_alone},
                                {.change = Change::stages_balanced},
                                {.change = Change::ranks_balanced}};
  std::vector<bool> kinds(collective_kind_count);
  for (const RankCalls& rank : in.collectives.matches.ranks)
    for (const CollectiveCall& call : rank.calls) kinds[static_cast<std::size_t>(call.kind)] = true;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (kinds[k])
      list.push_back(
          {.change = Change::communication_free, .kind = static_cast<CollectiveKind>(k)});
  for (std::size_t c = 0; c < name_class_count; ++c)
    list.push_back(
        {.change = Change::compute, .factor = 1.1, .kernel_class = static_cast<NameClass>(c)});
  // Ranks whose own work exceeds their peers' most.
  std::vector<Ns> of_view(in.views.size());
  for (std::uint32_t n = 0; n < in.medians.of_node.size(); ++n)
    if (in.medians.of_node[n] >= Ns{0})
      of_view[in.replay.graph->view[n]] += in.replay.measured.work[n] - in.medians.of_node[n];
  std::map<int, Ns> excess;
  for (std::size_t v = 0; v < of_view.size(); ++v) excess[in.views[v].rank] += of_view[v];
  std::vector<std::pair<Ns, int>> ranks;
  for (const auto& [rank, time] : excess)
    if (time > Ns{0}) ranks.emplace_back(time, rank);
  std::ranges::sort(ranks, std::greater<>{});
  if (ranks.size() > most_ranks) ranks.resize(most_ranks);
  for (const auto& [time, rank] : ranks)
    list.push_back({.change = Change::rank_as_peers, .rank = rank});
  for (const std::uint32_t ahead : prefetches_to_try(in.units))
    list.push_back({.change = Change::prefetch, .factor = static_cast<double>(ahead)});
  return list;
}

WhatIf with_prefetch(const WhatIfInputs& in, const Scenario& scenario) {
  const PrefetchChange change{static_cast<std::uint32_t>(scenario.factor), scenario.rank};
  const auto found = replay_with_prefetch(in.replay, in.views, in.collectives, in.units, change);
  WhatIf r{.scenario = scenario, .step = in.replay.step, .removed = {}, .added = {}};
  if (!found) {
    r.refused =
        "these traces hold no fetch of a unit's parameters that could be made earlier: no row "
        "names units (docs/explanation/parameter-fetches.md), or a thread stands still until each "
        "has arrived (gloo)";
    return r;
  }
  r.step = found->step;
  r.saved = in.replay.step - r.step;
  r.nodes = found->moved + found->dropped + found->added;
  return r;
}

// Without a device no call waits for a device, but a thread may wait too early for collectives.
bool asks_for_early_waits(const WhatIfInputs& in, const Scenario& scenario) {
  return scenario.change == Change::sync_free &&
         std::ranges::all_of(in.views, [](const RankView& v) { return v.index->cpu_only(); });
}

WhatIf without_early_waits(const WhatIfInputs& in, const Scenario& scenario) {
  const std::vector<EarlyWait> waits = find_early_waits(in);
  WhatIf r{.scenario = scenario, .step = in.replay.step, .removed = {}, .added = {}};
  r.nodes = static_cast<std::size_t>(std::ranges::count_if(waits, [&](const EarlyWait& w) {
    return !scenario.rank || in.views[w.view].rank == *scenario.rank;
  }));
  if (r.nodes == 0) return r;
  r.step = replay_without(in, waits, scenario.rank);
  r.saved = in.replay.step - r.step;
  return r;
}

// Results shared by all answers.
struct Asked {
  std::vector<std::vector<NodeChange>> of_cause;  // parallel to `causes`
  std::vector<Ns> ideal;                          // work without any of them, by node
  Ns ideal_step{};
  std::vector<NodeChange> fault;  // undoes the fault, if one is given
  Ns step_without_fault{};
  ComputeOfClass compute;   // if a scenario asks for compute
  GradientBuckets buckets;  // if a scenario asks for buckets
};

Asked prepare(const WhatIfInputs& in, std::span<const Scenario> scenarios, const Scenario* fault,
              const Workers& workers) {
  const auto asks_for = [&](Change change) {
    return std::ranges::find(scenarios, change, &Scenario::change) != scenarios.end();
  };
  Asked asked;
  asked.of_cause.resize(causes.size());
  shared_for(asked.of_cause, workers, Deal::turns,
             [&](std::size_t c) { asked.of_cause[c] = changes_of(in, {.change = causes[c]}); });
  asked.ideal.assign(in.replay.measured.work.begin(), in.replay.measured.work.end());
  for (const std::vector<NodeChange>& changes : asked.of_cause)
    for (const NodeChange& c : changes) asked.ideal[c.node] += c.work;
  asked.ideal_step = replay_steps(in.replay, asked.ideal, std::array{WorkChange{}}).front();
  if (fault != nullptr) {
    asked.fault = changes_of(in, *fault);
    asked.step_without_fault = replay_step(in.replay, asked.fault);
  }
  if (asks_for(Change::compute)) asked.compute = compute_of_class(in);
  if (asks_for(Change::bucket)) asked.buckets = find_gradient_buckets(in);
  return asked;
}

// What changes durations is also asked beside the fault.
bool asks_beside_fault(const WhatIfInputs& in, const Asked& asked, const WhatIf& w) {
  return !asked.fault.empty() && w.scenario.change != Change::compute &&
         static_cast<double>(w.saved.count()) >=
             worth_saving * static_cast<double>(in.replay.step.count());
}

// What of a step the calls whose waiting and transfer are one expose, on the view where it is most,
// and how many they are there.
struct Unsplit {
  Ns exposed{};
  std::size_t calls = 0;
};

Unsplit unsplit_calls(const WhatIfInputs& in, const Scenario& scenario) {
  const StepGraph& graph = *in.replay.graph;
  const auto steps = count_steps(in.views, graph.together).of_view;
  std::vector<Unsplit> of_view(in.views.size());
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::comm)]) {
    const std::uint32_t v = graph.view[n];
    if ((scenario.rank && in.views[v].rank != *scenario.rank) || !concerns(in, scenario, n))
      continue;
    ++of_view[v].calls;
    const Ns start = in.replay.start(n) + graph.origin;
    if (steps[v].empty() || start < steps[v].front().start || graph.detail[n] == no_row) continue;
    of_view[v].exposed += in.collectives.exposed[v][graph.detail[n]];
  }
  Unsplit most;
  for (std::size_t v = 0; v < of_view.size(); ++v) {
    if (!steps[v].empty()) of_view[v].exposed /= std::ssize(steps[v]);
    most.exposed = std::max(most.exposed, of_view[v].exposed);
    most.calls = std::max(most.calls, of_view[v].calls);
  }
  return most;
}

// The range of an answer in which the time of such calls is all transfer; what_if.h.
void bound_unsplit(const WhatIfInputs& in, WhatIf& w) {
  const Unsplit calls = unsplit_calls(in, w.scenario);
  if (calls.calls == 0) return;
  const bool free = w.scenario.change == Change::communication_free;
  const double part = free ? 1 : std::max(0.0, 1 - 1 / w.scenario.factor);
  const Ns least = replay_step(in.replay, Changer(in, w.scenario, nullptr, false).run());
  const Ns exposed{std::llround(part * static_cast<double>(calls.exposed.count()))};
  w.shortest_step = std::max(Ns{0}, std::min(w.step, least - exposed));
  w.step = std::max(w.step, least);
  w.saved = in.replay.step - w.step;
  w.beside_fault.reset();
  w.unsplit = calls.calls;
}

bool changes_communication(Change change) {
  return change == Change::communication_free || change == Change::bandwidth ||
         change == Change::latency;
}

// Scenarios that change the work of nodes. Few enough to be replayed at once; `results` is parallel
// to them.
void answer_changes(const WhatIfInputs& in, const Asked& asked, std::span<WhatIf> results) {
  const Replay& replay = in.replay;
  std::vector<std::vector<NodeChange>> own(results.size());
  std::vector<std::span<const NodeChange>> changes;
  std::vector<WorkChange> lanes;
  std::vector<std::size_t> of_lane;
  const auto ask = [&](std::span<const Ns> work, auto&& take) {
    const std::vector<Ns> steps = replay_steps(replay, work, lanes);
    for (std::size_t l = 0; l < lanes.size(); ++l) take(of_lane[l], steps[l]);
    lanes.clear();
    of_lane.clear();
  };
  const auto add = [&](std::size_t i, std::initializer_list<std::span<const NodeChange>> lists) {
    lanes.emplace_back().changes = lists;
    of_lane.push_back(i);
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    WhatIf& r = results[i];
    const auto cause = std::ranges::find(causes, r.scenario.change);
    const bool whole = cause != causes.end() && !r.scenario.rank && !r.scenario.kind;
    if (!whole) own[i] = Changer(in, r.scenario, &asked.compute).run();
    changes.emplace_back(whole ? asked.of_cause[static_cast<std::size_t>(cause - causes.begin())]
                               : own[i]);
    r.nodes = changes[i].size();
    r.step = replay.step;
    if (r.nodes > 0) add(i, {changes[i]});
  }
  ask(replay.measured.work, [&](std::size_t i, Ns step) { results[i].step = step; });
  for (std::size_t i = 0; i < results.size(); ++i) {
    WhatIf& r = results[i];
    r.saved = replay.step - r.step;
    if (asks_beside_fault(in, asked, r)) add(i, {changes[i], asked.fault});
  }
  ask(replay.measured.work,
      [&](std::size_t i, Ns step) { results[i].beside_fault = asked.step_without_fault - step; });
  const Ns most = replay.step - asked.ideal_step;
  for (std::size_t i = 0; i < results.size(); ++i) {
    WhatIf& r = results[i];
    if (most <= Ns{0} || std::ranges::find(causes, r.scenario.change) == causes.end() ||
        r.scenario.kind)
      continue;
    r.removed = share(r.saved, most);
    r.added = 0;
    if (changes[i].empty()) continue;
    add(i, {changes[i]});
    lanes.back().less = true;  // its time is there again
  }
  ask(asked.ideal,
      [&](std::size_t i, Ns step) { results[i].added = share(step - asked.ideal_step, most); });
  for (WhatIf& r : results)
    if (changes_communication(r.scenario.change)) bound_unsplit(in, r);
}

// Whether it is answered in another way than by a change of work.
bool is_answered_alone(const WhatIfInputs& in, const Scenario& scenario) {
  return scenario.change == Change::bucket || scenario.change == Change::prefetch ||
         asks_for_early_waits(in, scenario);
}

WhatIf answer_alone(const WhatIfInputs& in, const Asked& asked, const Scenario& scenario) {
  if (scenario.change == Change::bucket) return with_buckets(in, asked.buckets, scenario);
  if (scenario.change == Change::prefetch) return with_prefetch(in, scenario);
  return without_early_waits(in, scenario);
}

std::vector<WhatIf> answers(const WhatIfInputs& inputs, std::span<const Scenario> scenarios,
                            const Scenario* fault, const Workers& workers, const StopFlag* stop) {
  std::vector<WhatIf> results(scenarios.size());
  if (results.empty()) return results;
  const Asked asked = prepare(inputs, scenarios, fault, workers);
  const auto stopped = [&] { return stop != nullptr && stop->requested(); };
  std::vector<std::size_t> places;  // of those that change work, then of the others
  for (const bool alone : {false, true})
    for (std::size_t i = 0; i < scenarios.size(); ++i)
      if (is_answered_alone(inputs, scenarios[i]) == alone) places.push_back(i);
  const auto own_kind = std::ranges::find_if(
      places, [&](std::size_t i) { return is_answered_alone(inputs, scenarios[i]); });
  std::vector<WhatIf> changing(static_cast<std::size_t>(own_kind - places.begin()));
  std::vector<WhatIf> others(places.size() - changing.size());
  for (std::size_t i = 0; i < changing.size(); ++i) changing[i].scenario = scenarios[places[i]];
  shared_for(others, workers, Deal::turns, [&](std::size_t i) {
    others[i].scenario = scenarios[places[changing.size() + i]];
    if (!stopped()) others[i] = answer_alone(inputs, asked, others[i].scenario);
  });
  shared_stretches(changing, workers, most_replays, [&](std::size_t first, std::size_t count) {
    if (!stopped()) answer_changes(inputs, asked, std::span(changing).subspan(first, count));
  });
  for (std::size_t i = 0; i < places.size(); ++i)
    results[places[i]] = std::move(i < changing.size() ? changing[i] : others[i - changing.size()]);
  return results;
}

}  // namespace

std::vector<NodeChange> changes_of(const WhatIfInputs& inputs, const Scenario& scenario) {
  return Changer(inputs, scenario, nullptr).run();
}

std::vector<WhatIf> what_if(const WhatIfInputs& inputs, std::span<const Scenario> scenarios,
                            const Workers& workers, const StopFlag* stop) {
  return answers(inputs, scenarios, nullptr, workers, stop);
}

std::vector<WhatIf> standing_what_ifs(const WhatIfInputs& inputs, const Scenario* fault,
                                      const Workers& workers, const StopFlag* stop) {
  std::vector<WhatIf> results = answers(inputs, standing_scenarios(inputs), fault, workers, stop);
  std::erase_if(results, [](const WhatIf& w) { return w.nodes == 0; });
  std::ranges::stable_sort(results, std::ranges::greater{}, [](const WhatIf& w) {
    return std::pair(w.saved, most_saved(w));
  });
  return results;
}

}  // namespace stepscope
