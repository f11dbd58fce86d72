// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/what_if.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "stepscope/analysis/bucket_change.h"
#include "stepscope/analysis/early_waits.h"
#include "stepscope/analysis/host.h"
#include "stepscope/analysis/host_waits.h"
#include "stepscope/analysis/phase_names.h"
#include "stepscope/base/parallel_for.h"

namespace stepscope {
namespace {

// Taken from the delay of a node that is no longer waited for: more than any trace lasts.
constexpr Ns never_waited = std::chrono::hours{24 * 365};
constexpr std::size_t most_ranks = 16;
constexpr Ns hidden_wait = std::chrono::milliseconds{1};

Ns divided(Ns time, double factor) {
  return Ns{std::llround(static_cast<double>(time.count()) / factor)};
}

// Changes nodes of a copy of what was measured.
class Changer {
 public:
  Changer(const WhatIfInputs& inputs, const Scenario& scenario)
      : in_(inputs),
        graph_(*inputs.replay.graph),
        scenario_(scenario),
        times_(inputs.replay.measured) {}

  NodeTimes run();

 private:
  template <class Visit>
  void each(Visit&& visit) {
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      if (in_.replay.movable[n] && of_rank(n)) visit(n, graph_.kind[n]);
  }
  [[nodiscard]] bool of_rank(std::uint32_t node) const {
    return !scenario_.rank || in_.views[graph_.view[node]].rank == *scenario_.rank;
  }
  [[nodiscard]] const Trace& trace(std::uint32_t node) const {
    return *in_.views[graph_.view[node]].trace;
  }
  [[nodiscard]] NameClass class_of(std::uint32_t node) const;
  [[nodiscard]] const CollectiveCall* call_of(std::uint32_t node) const;
  [[nodiscard]] bool of_kind(std::uint32_t node) const;
  void scale_transfers();
  void free_host();
  void free_rows();
  void as_peers();
  void balance_stages();
  [[nodiscard]] bool loads_data(std::uint32_t node) const;

  const WhatIfInputs& in_;
  const StepGraph& graph_;
  const Scenario& scenario_;
  NodeTimes times_;
};

NameClass Changer::class_of(std::uint32_t node) const {
  const Trace& t = trace(node);
  if (graph_.slice[node] == no_slice) return NameClass::other;
  const auto name = index(t.slices.name[index(graph_.slice[node])]);
  return is_device_work(t.slices.category[index(graph_.slice[node])]) ? t.kernel_class[name]
                                                                      : t.operator_class[name];
}

const CollectiveCall* Changer::call_of(std::uint32_t node) const {
  const std::uint32_t row = graph_.detail[node];
  return row == no_row ? nullptr : &in_.collectives.matches.ranks[graph_.view[node]].calls[row];
}

bool Changer::of_kind(std::uint32_t node) const {
  if (!scenario_.kind) return true;
  const CollectiveCall* call = call_of(node);
  return call != nullptr && call->kind == *scenario_.kind;
}

// Latency of a kind and group on a rank: its shortest transfer of all, an upper bound.
void Changer::scale_transfers() {
  using Key = std::tuple<std::uint32_t, CollectiveKind, std::uint32_t>;
  std::map<Key, Ns> latency;
  const auto key_of = [&](std::uint32_t n) {
    const CollectiveCall* call = call_of(n);
    return Key{graph_.view[n], call->kind, call->group};
  };
  each([&](std::uint32_t n, NodeKind kind) {
    if (kind != NodeKind::transfer) return;
    const Ns time = std::max(Ns{0}, times_.duration[n]);
    const auto [at, fresh] = latency.try_emplace(key_of(n), time);
    if (!fresh) at->second = std::min(at->second, time);
  });
  each([&](std::uint32_t n, NodeKind kind) {
    if (kind != NodeKind::transfer || !of_kind(n) || times_.duration[n] <= Ns{0}) return;
    const Ns fixed = latency[key_of(n)];
    const Ns rest = times_.duration[n] - fixed;
    times_.duration[n] = scenario_.change == Change::bandwidth
                             ? fixed + divided(rest, scenario_.factor)
                             : divided(fixed, scenario_.factor) + rest;
  });
}

// Of a CPU-only trace the loader's rows are compute nodes.
bool Changer::loads_data(std::uint32_t node) const {
  return graph_.slice[node] != no_slice &&
         phase_of_name(trace(node).name(graph_.slice[node])) == Phase::data;
}

// Whether a change takes away the time of rows of this category and name.
bool takes_category(Change change, Category c) {
  if (change == Change::allocator_free) return c == Category::runtime || c == Category::driver;
  if (change == Change::profiler_free) return c == Category::overhead;
  return is_host(c);
}

bool takes_name(Change change, std::string_view name) {
  if (change == Change::allocator_free) return is_allocator_call(name);
  if (change == Change::collector_free) return is_garbage_collection(name);
  return change == Change::profiler_free || phase_of_name(name) == Phase::data;
}

std::vector<HostSpan> spans_of(Change change, const Trace& trace, const Track& track,
                               const std::vector<bool>& names) {
  std::vector<HostSpan> spans;
  const Slices& s = trace.slices;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
    if (names[index(s.name[i])] && takes_category(change, s.category[i]))
      extend(spans, s.start[i], s.start[i] + s.dur[i], SliceId{i});
  return spans;
}

// Calls visit(node, time of it inside such rows) for each host node.
void for_time_in_rows(const WhatIfInputs& in, Change change,
                      const std::function<void(std::uint32_t, Ns)>& visit) {
  const StepGraph& graph = *in.replay.graph;
  std::vector<std::vector<std::vector<HostSpan>>> spans(in.views.size());
  for (std::size_t v = 0; v < in.views.size(); ++v) {
    const Trace& trace = *in.views[v].trace;
    spans[v].resize(trace.tracks.size());
    std::vector<bool> names(trace.strings.size());
    for (std::uint32_t i = 0; i < names.size(); ++i)
      names[i] = takes_name(change, trace.strings[StringId{i}]);
    for (const TrackId track : in.views[v].index->host_tracks)
      spans[v][index(track)] = spans_of(change, trace, trace.track(track), names);
  }
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (!in.replay.movable[n] || graph.kind[n] != NodeKind::host || graph.slice[n] == no_slice)
      continue;
    const std::uint32_t v = graph.view[n];
    const TrackId track = in.views[v].trace->slices.track[index(graph.slice[n])];
    Ns inside{};
    cut(
        spans[v][index(track)], in.replay.start[n] + graph.origin, in.replay.end[n] + graph.origin,
        [&](Ns from, Ns to, SliceId) { inside += to - from; }, [](Ns, Ns) {});
    visit(n, inside);
  }
}

void Changer::free_host() {
  for_time_in_rows(in_, Change::data_free, [&](std::uint32_t n, Ns data) {
    if (!of_rank(n)) return;
    const Ns time = times_.duration[n] - data;
    times_.duration[n] -=
        scenario_.change == Change::host_free ? time : time - divided(time, scenario_.factor);
  });
  if (scenario_.change == Change::host) return;
  each([&](std::uint32_t n, NodeKind kind) {
    if (kind != NodeKind::launch) return;
    times_.duration[n] = times_.delay[n] = Ns{0};
  });
}

void Changer::free_rows() {
  for_time_in_rows(in_, scenario_.change, [&](std::uint32_t n, Ns time) {
    if (of_rank(n)) times_.duration[n] -= time;
  });
  if (scenario_.change != Change::data_free) return;
  each([&](std::uint32_t n, NodeKind kind) {
    if (kind == NodeKind::compute && loads_data(n)) times_.duration[n] = Ns{0};
  });
}

void Changer::as_peers() {
  each([&](std::uint32_t n, NodeKind) {
    const Ns median = in_.medians.of_node[n];
    if (median < Ns{0}) return;
    // Where it is much faster, its peers may have waited for it in ways that nothing recorded.
    const Ns own = times_.duration[n] + times_.delay[n];
    if (median - own > std::max(hidden_wait, 2 * own)) return;
    times_.duration[n] = median;
    times_.delay[n] = Ns{0};
  });
}

// "tp0.pp1", "pp1" → "pp1"; empty without a stage.
std::string_view stage_of(std::string_view role) {
  const std::size_t at = role.find("pp");
  return at == std::string_view::npos ? std::string_view{} : role.substr(at);
}

void Changer::balance_stages() {
  std::map<std::string_view, std::pair<double, std::size_t>> of_stage;  // total compute, views
  std::vector<double> of_view(in_.views.size(), 0);
  each([&](std::uint32_t n, NodeKind kind) {
    if (kind == NodeKind::compute)
      of_view[graph_.view[n]] += static_cast<double>(times_.duration[n].count());
  });
  for (std::size_t v = 0; v < of_view.size(); ++v) {
    auto& [total, views] = of_stage[stage_of(in_.roles[v])];
    total += of_view[v];
    ++views;
  }
  if (of_stage.size() < 2) return;
  double mean = 0;
  for (const auto& [stage, sum] : of_stage)
    mean += sum.first / static_cast<double>(sum.second) / static_cast<double>(of_stage.size());
  each([&](std::uint32_t n, NodeKind kind) {
    if (kind != NodeKind::compute) return;
    const auto& [total, views] = of_stage[stage_of(in_.roles[graph_.view[n]])];
    if (total > 0)
      times_.duration[n] = divided(times_.duration[n], total / static_cast<double>(views) / mean);
  });
}

NodeTimes Changer::run() {
  switch (scenario_.change) {
    case Change::no_waiting:
      each([&](std::uint32_t n, NodeKind kind) {
        if (kind == NodeKind::join) times_.delay[n] = -never_waited;
      });
      break;
    case Change::communication_free:
      each([&](std::uint32_t n, NodeKind kind) {
        if ((kind == NodeKind::transfer || kind == NodeKind::comm) && of_kind(n))
          times_.duration[n] = Ns{0};
      });
      break;
    case Change::bandwidth:
    case Change::latency:
      scale_transfers();
      break;
    case Change::compute:
      each([&](std::uint32_t n, NodeKind kind) {
        if (kind != NodeKind::compute) return;
        if (!scenario_.kernel_class || class_of(n) == *scenario_.kernel_class)
          times_.duration[n] = divided(times_.duration[n], scenario_.factor);
      });
      break;
    case Change::host_free:
    case Change::host:
      free_host();
      break;
    case Change::data_free:
    case Change::allocator_free:
    case Change::collector_free:
    case Change::profiler_free:
      free_rows();
      break;
    case Change::sync_free:
      each([&](std::uint32_t n, NodeKind kind) {
        if (kind == NodeKind::wait && !in_.views[graph_.view[n]].index->cpu_only())
          times_.delay[n] = -never_waited;
      });
      break;
    case Change::copies_free:
      each([&](std::uint32_t n, NodeKind kind) {
        if (kind == NodeKind::copy) times_.duration[n] = Ns{0};
      });
      break;
    case Change::device_alone:
      each([&](std::uint32_t n, NodeKind kind) {
        if (kind == NodeKind::held) times_.duration[n] = Ns{0};
      });
      break;
    case Change::rank_as_peers:
      as_peers();
      break;
    case Change::stages_balanced:
      balance_stages();
      break;
    case Change::ranks_balanced:
      each([&](std::uint32_t n, NodeKind) {
        if (in_.medians.mean[n] >= Ns{0}) times_.duration[n] = in_.medians.mean[n];
      });
      break;
    case Change::bucket:
      check(false, "buckets are replayed by change_buckets");
      break;
    case Change::prefetch:
      break;
  }
  keep_beginning(in_.replay, times_);
  return std::move(times_);
}

std::size_t count_changed(const NodeTimes& a, const NodeTimes& b) {
  std::size_t changed = 0;
  for (std::size_t n = 0; n < a.duration.size(); ++n)
    if (a.duration[n] != b.duration[n] || a.delay[n] != b.delay[n]) ++changed;
  return changed;
}

// Where `one` differs from what was measured it replaces `all`.
void add_changes(const NodeTimes& measured, const NodeTimes& one, NodeTimes& all) {
  for (std::size_t n = 0; n < measured.duration.size(); ++n) {
    if (one.duration[n] != measured.duration[n]) all.duration[n] = one.duration[n];
    if (one.delay[n] != measured.delay[n]) all.delay[n] = one.delay[n];
  }
}

void take_changes_back(const NodeTimes& measured, const NodeTimes& one, NodeTimes& all) {
  for (std::size_t n = 0; n < measured.duration.size(); ++n) {
    if (one.duration[n] != measured.duration[n]) all.duration[n] = measured.duration[n];
    if (one.delay[n] != measured.delay[n]) all.delay[n] = measured.delay[n];
  }
}

// Causes that could be gone altogether: what "every cause removed" removes.
bool is_cause(const Scenario& s) {
  return s.change == Change::no_waiting || s.change == Change::host_free ||
         s.change == Change::data_free || s.change == Change::sync_free ||
         s.change == Change::copies_free || s.change == Change::device_alone ||
         (s.change == Change::communication_free && !s.kind);
}

double share(Ns part, Ns whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

void with_buckets(const WhatIfInputs& inputs, const GradientBuckets& buckets, WhatIf& r) {
  BucketAnswer answer = change_buckets(inputs, buckets, *r.scenario.size);
  r.step = answer.step;
  r.saved = inputs.replay.step - r.step;
  r.nodes = answer.nodes;
  r.refused = std::move(answer.refused);
  r.notes = std::move(answer.notes);
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
  std::map<int, Ns> excess;
  for (std::uint32_t n = 0; n < in.medians.of_node.size(); ++n)
    if (in.medians.of_node[n] >= Ns{0})
      excess[in.views[in.replay.graph->view[n]].rank] +=
          in.replay.measured.duration[n] + in.replay.measured.delay[n] - in.medians.of_node[n];
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
        "names units (docs/explain.md), or a thread stands still until each has arrived (gloo)";
    return r;
  }
  r.step = found->step;
  r.saved = in.replay.step - r.step;
  r.nodes = found->moved + found->dropped + found->added;
  return r;
}

// Without a device no call waits for one, but a thread may wait for collectives before it has to.
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

}  // namespace

NodeTimes changed_times(const WhatIfInputs& inputs, const Scenario& scenario) {
  return Changer(inputs, scenario).run();
}

std::vector<WhatIf> what_if(const WhatIfInputs& inputs, std::span<const Scenario> scenarios,
                            unsigned threads, const StopFlag* stop) {
  const Replay& replay = inputs.replay;
  NodeTimes ideal = replay.measured;
  for (const Change change :
       {Change::communication_free, Change::host_free, Change::data_free, Change::copies_free,
        Change::device_alone, Change::sync_free, Change::no_waiting})
    add_changes(replay.measured, changed_times(inputs, {.change = change}), ideal);
  std::vector<Ns> end;
  const Ns ideal_step = replay_step(replay, ideal, end);
  std::vector<WhatIf> results(scenarios.size());
  GradientBuckets buckets;
  if (std::ranges::find(scenarios, Change::bucket, &Scenario::change) != scenarios.end())
    buckets = find_gradient_buckets(inputs);
  parallel_for(scenarios.size(), threads, [&](std::size_t i) {
    if (stop != nullptr && stop->requested()) return;
    WhatIf& r = results[i];
    std::vector<Ns> room;
    r.scenario = scenarios[i];
    if (scenarios[i].change == Change::bucket) {
      with_buckets(inputs, buckets, r);
      return;
    }
    if (scenarios[i].change == Change::prefetch) {
      r = with_prefetch(inputs, scenarios[i]);
      return;
    }
    if (asks_for_early_waits(inputs, scenarios[i])) {
      r = without_early_waits(inputs, scenarios[i]);
      return;
    }
    const NodeTimes times = changed_times(inputs, scenarios[i]);
    r.nodes = count_changed(replay.measured, times);
    r.step = replay_step(replay, times, room);
    r.saved = replay.step - r.step;
    if (ideal_step >= replay.step || !is_cause(scenarios[i])) return;
    r.removed = share(r.saved, replay.step - ideal_step);
    NodeTimes alone = ideal;
    take_changes_back(replay.measured, times, alone);
    r.added = share(replay_step(replay, alone, room) - ideal_step, replay.step - ideal_step);
  });
  return results;
}

std::vector<WhatIf> standing_what_ifs(const WhatIfInputs& inputs, unsigned threads,
                                      const StopFlag* stop) {
  std::vector<WhatIf> results = what_if(inputs, standing_scenarios(inputs), threads, stop);
  std::erase_if(results, [](const WhatIf& w) { return w.nodes == 0; });
  std::ranges::stable_sort(results, std::ranges::greater{}, &WhatIf::saved);
  return results;
}

}  // namespace stepscope
