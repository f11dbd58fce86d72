// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/replay/bucket_change.h"
#include "stepscope/analysis/replay/early_waits.h"
#include "stepscope/analysis/replay/evidence.h"
#include "stepscope/analysis/replay/fault_changes.h"
#include "stepscope/analysis/replay/stage_balance.h"
#include "stepscope/analysis/steps/counted_steps.h"
#include "stepscope/base/crew.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_ranks = 16;
constexpr double worth_saving = 0.01;  // of a step

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
      of_view[in.replay.graph->view[n]] += time_of(in.replay, n) - in.medians.of_node[n];
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
    r.refused = msg::no_fetch_earlier();
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
  shared_for(asked.of_cause, workers, Distribution::turns,
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

// A change of durations is also asked in addition to the fault.
bool asks_beside_fault(const WhatIfInputs& in, const Asked& asked, const WhatIf& w) {
  return !asked.fault.empty() && w.scenario.change != Change::compute &&
         static_cast<double>(w.saved.count()) >=
             worth_saving * static_cast<double>(in.replay.step.count());
}

// What the calls expose of a step: within the steps, and once where calls are in flight together.
Ns exposed_of_step(const RankView& view, std::span<const Step> steps,
                   std::vector<CollectiveCall> calls) {
  if (steps.empty() || calls.empty()) return Ns{0};
  std::ranges::sort(calls, {}, &CollectiveCall::start);
  Ns reach = steps.front().start;
  for (CollectiveCall& call : calls) {
    call.end = std::min(call.end, steps.back().end);
    call.start = std::min(call.end, std::max(call.start, reach));
    reach = std::max(reach, call.end);
  }
  Ns sum{};
  for (const Ns exposed : exposed_times(view, calls)) sum += exposed;
  return sum / std::ssize(steps);
}

// What the calls whose waiting and transfer are one expose of a step, on the view where it is most,
// and how many they are there.
struct Unsplit {
  Ns exposed{};
  std::size_t calls = 0;
};

Unsplit unsplit_calls(const WhatIfInputs& in, const Scenario& scenario) {
  const StepGraph& graph = *in.replay.graph;
  const auto steps = count_steps(in.views, graph.clocks_comparable).of_view;
  std::vector<std::vector<CollectiveCall>> of_view(in.views.size());
  for (const std::uint32_t n : in.replay.movable_of[static_cast<std::size_t>(NodeKind::comm)]) {
    const std::uint32_t v = graph.view[n];
    if ((scenario.rank && in.views[v].rank != *scenario.rank) || !concerns(in, scenario, n) ||
        graph.detail[n] == no_row)
      continue;
    of_view[v].push_back(in.collectives.matches.ranks[v].calls[graph.detail[n]]);
  }
  Unsplit most;
  for (std::size_t v = 0; v < of_view.size(); ++v) {
    if (of_view[v].empty()) continue;
    most.calls = std::max(most.calls, of_view[v].size());
    most.exposed = std::max(most.exposed, exposed_of_step(in.views[v], steps[v], of_view[v]));
  }
  return most;
}

// The range of an answer in which the time of such calls is all transfer; what_if.h.
void bound_unsplit(const WhatIfInputs& in, WhatIf& w) {
  const Unsplit calls = unsplit_calls(in, w.scenario);
  if (calls.calls == 0) return;
  const bool free = w.scenario.change == Change::communication_free;
  const double part = free ? 1 : std::max(0.0, 1 - 1 / w.scenario.factor);
  const Ns least = replay_step(in.replay, changes_of(in, w.scenario, nullptr, false));
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
    if (!whole) own[i] = changes_of(in, r.scenario, &asked.compute);
    changes.emplace_back(whole ? asked.of_cause[static_cast<std::size_t>(cause - causes.begin())]
                               : own[i]);
    r.nodes = changes[i].size();
    r.step = replay.step;
    if (r.nodes > 0) add(i, {changes[i]});
  }
  ask(replay.measured.work, [&](std::size_t i, Ns step) {
    results[i].step = std::max(step, shortest_step(in, results[i].scenario));
  });
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
  shared_for(others, workers, Distribution::turns, [&](std::size_t i) {
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

Ns shortest_step(const WhatIfInputs& in, const Scenario& scenario) {
  if (scenario.change == Change::step_as_others) {
    const auto step = compared_step(in, scenario.step.value_or(-1));
    return step ? in.replay.step - step->most_saved() : Ns{0};
  }
  const bool syncs = scenario.change == Change::sync_free || scenario.change == Change::syncs_once;
  if (syncs || scenario.change == Change::host_free)
    return in.replay.step - kept_waiting(in, !syncs);
  return Ns{0};
}

std::vector<WhatIf> what_if(const WhatIfInputs& inputs, std::span<const Scenario> scenarios,
                            const Workers& workers, const StopFlag* stop) {
  return answers(inputs, scenarios, nullptr, workers, stop);
}

std::vector<WhatIf> standing_what_ifs(const WhatIfInputs& inputs, const Scenario* fault,
                                      const Workers& workers, const StopFlag* stop) {
  std::vector<WhatIf> results = answers(inputs, standing_scenarios(inputs), fault, workers, stop);
  std::erase_if(results, [](const WhatIf& w) { return w.nodes == 0; });
  std::ranges::stable_sort(results, std::ranges::greater{},
                           [](const WhatIf& w) { return std::pair(w.saved, most_saved(w)); });
  return results;
}

namespace {

// The first and last nodes of one rank's passes of one step.
struct Bounds {
  std::uint32_t first = no_node;
  std::uint32_t last = no_node;
};

class Shares {
 public:
  Shares(const PipelineBubble& pipeline, const WhatIfInputs& inputs)
      : pipeline_(pipeline), in_(inputs), graph_(*inputs.replay.graph) {}

  std::vector<BubbleShares> find();

 private:
  using Key = std::pair<std::uint32_t, std::int64_t>;  // pipeline, Step::index

  void find_nodes();
  // Work is by node.
  [[nodiscard]] std::vector<Ns> without_messages(std::vector<Ns> work) const;
  [[nodiscard]] std::map<Key, Ns> walls(std::span<const Ns> work);
  [[nodiscard]] Ns less_work(std::size_t rank, std::span<const Ns> balanced, Ns from, Ns to) const;

  const PipelineBubble& pipeline_;
  const WhatIfInputs& in_;
  const StepGraph& graph_;
  std::vector<std::vector<std::uint32_t>> computes_;  // parallel to ranks: nodes by start
  std::vector<std::vector<Bounds>> bounds_;           // parallel to ranks and their steps
  std::vector<Ns> end_;
};

void Shares::find_nodes() {
  std::vector<std::vector<std::uint32_t>> of_view(in_.views.size());
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (graph_.kind[n] == NodeKind::compute) of_view[graph_.view[n]].push_back(n);
  const auto start = [&](std::uint32_t n) { return in_.replay.start(n) + graph_.origin; };
  const auto end = [&](std::uint32_t n) { return in_.replay.end[n] + graph_.origin; };
  for (const StageBubble& rank : pipeline_.ranks) {
    auto& nodes = computes_.emplace_back(of_view[rank.view]);
    std::ranges::stable_sort(nodes, {}, start);
    auto& bounds = bounds_.emplace_back(rank.steps.size());
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      const auto from = std::ranges::lower_bound(nodes, rank.steps[s].first_forward, {}, start);
      for (auto n = from; n != nodes.end() && start(*n) < rank.steps[s].last_backward; ++n) {
        // A node without duration is not part of a pass.
        if (end(*n) > rank.steps[s].last_backward || end(*n) == start(*n)) continue;
        if (bounds[s].first == no_node) bounds[s].first = *n;
        if (bounds[s].last == no_node || end(*n) > end(bounds[s].last)) bounds[s].last = *n;
      }
    }
  }
}

std::vector<Ns> Shares::without_messages(std::vector<Ns> work) const {
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    if (graph_.kind[n] != NodeKind::transfer || !in_.replay.movable[n]) continue;
    const CollectiveCall& call =
        in_.collectives.matches.ranks[graph_.view[n]].calls[graph_.detail[n]];
    if (is_stage_message(call, in_.collectives.dimension_of)) work[n] = graph_.graph.delay(n);
  }
  return work;
}

// The duration of each pipeline's steps in a replay.
std::map<Shares::Key, Ns> Shares::walls(std::span<const Ns> work) {
  end_.resize(graph_.size());
  replay(graph_.graph, work, {}, end_);
  std::map<Key, std::pair<Ns, Ns>> spans;
  for (std::size_t r = 0; r < pipeline_.ranks.size(); ++r) {
    const StageBubble& rank = pipeline_.ranks[r];
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      const auto [first, last] = bounds_[r][s];
      if (first == no_node) continue;
      const Ns start = end_[first] - (work[first] - graph_.graph.delay(first));
      auto& span =
          spans.try_emplace({rank.pipeline, rank.steps[s].index}, start, end_[last]).first->second;
      span = {std::min(span.first, start), std::max(span.second, end_[last])};
    }
  }
  std::map<Key, Ns> walls;
  for (const auto& [key, span] : spans) walls[key] = span.second - span.first;
  return walls;
}

// The reduction by balancing of a rank's compute that begins in [from, to).
Ns Shares::less_work(std::size_t rank, std::span<const Ns> balanced, Ns from, Ns to) const {
  const auto start = [&](std::uint32_t n) { return in_.replay.start(n) + graph_.origin; };
  const std::vector<std::uint32_t>& nodes = computes_[rank];
  Ns less{};
  for (auto n = std::ranges::lower_bound(nodes, from, {}, start);
       n != nodes.end() && start(*n) < to; ++n)
    less += in_.replay.measured.work[*n] - balanced[*n];
  return less;
}

std::vector<BubbleShares> Shares::find() {
  find_nodes();
  std::vector<Ns> balanced = graph_.graph.work;
  const auto measured = walls(balanced);
  const auto linkless = walls(without_messages(balanced));
  const auto shares = stage_shares(in_);
  for (const std::uint32_t n : in_.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)]) {
    const auto stage = shares.find(stage_of(in_.roles[graph_.view[n]]));
    if (stage == shares.end() || stage->second <= 0) continue;
    const Ns time = in_.replay.measured.duration[n];
    balanced[n] += Ns{std::llround(static_cast<double>(time.count()) / stage->second)} - time;
  }
  const auto even = walls(without_messages(balanced));
  std::vector<BubbleShares> all;
  for (std::size_t r = 0; r < pipeline_.ranks.size(); ++r) {
    const StageBubble& rank = pipeline_.ranks[r];
    BubbleShares& share = all.emplace_back();
    Ns links{};
    Ns imbalance{};
    Ns passes = rank.total.passes;
    for (const StageStep& s : rank.steps) {
      const Key key{rank.pipeline, s.index};
      passes -= less_work(r, balanced, s.first_forward, s.last_backward);
      imbalance -= less_work(r, balanced, s.begin, s.end);
      if (!measured.contains(key)) continue;
      links += measured.at(key) - linkless.at(key);
      imbalance += linkless.at(key) - even.at(key);
    }
    if (pipeline_.passes)
      share.schedule = bubble_by_schedule(pipeline_.stages, *pipeline_.passes, passes);
    share.links = links;
    share.imbalance = imbalance;
    share.rest =
        rank.total.bubble() - share.schedule.value_or(Ns{0}) - *share.links - *share.imbalance;
  }
  return all;
}

}  // namespace

Ns BubbleShares::sum() const {
  return schedule.value_or(Ns{0}) + imbalance.value_or(Ns{0}) + links.value_or(Ns{0}) + rest;
}

std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline) {
  std::vector<BubbleShares> all;
  for (const StageBubble& rank : pipeline.ranks) {
    BubbleShares& share = all.emplace_back();
    share.schedule = pipeline.by_schedule(rank);
    share.rest = rank.total.bubble() - share.schedule.value_or(Ns{0});
  }
  return all;
}

std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline,
                                        const WhatIfInputs& inputs) {
  if (!pipeline.missing.empty() || !inputs.collectives.matches.clocks_comparable)
    return bubble_shares(pipeline);
  return Shares(pipeline, inputs).find();
}

}  // namespace stepscope
