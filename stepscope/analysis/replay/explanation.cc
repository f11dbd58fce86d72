// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "stepscope/analysis/graph/stream_order.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/freed_memory.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double held_much = 0.02;
constexpr std::size_t many_nodes = 4'000'000;  // whose questions need gigabytes in turn

// The instant from which only the device delayed the operation.
Ns ready_for_device(const Replay& replay, std::uint32_t node) {
  Ns ready = Ns::min();
  bool held = false;
  for (const std::uint32_t before : replay.graph->graph.preds_of(node)) {
    if (replay.graph->kind[before] == NodeKind::held)
      held = true;
    else
      ready = std::max(ready, replay.end[before]);
  }
  return held ? ready : replay.start(node) - replay.measured.delay(node);
}

// Counts only time in which the rank's device runs nothing else: the end of its last operation is
// checked.
std::vector<HeldDevice> held_devices(const Replay& replay, std::span<const RankView> views) {
  const StepGraph& graph = *replay.graph;
  std::vector<HeldDevice> found(views.size());
  std::vector<std::vector<Ns>> delays(views.size());
  std::vector<std::vector<Ns>> slices(views.size());
  std::vector<Ns> busy_until(views.size(), Ns::min());
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const NodeKind kind = graph.kind[n];
    const bool device = kind == NodeKind::compute || kind == NodeKind::copy ||
                        kind == NodeKind::comm || kind == NodeKind::arrival;
    const std::uint32_t v = graph.view[n];
    if (kind == NodeKind::held) slices[v].push_back(graph.graph.duration[n]);
    if (!device && kind != NodeKind::transfer) continue;
    const Ns idle_since = std::max(busy_until[v], ready_for_device(replay, n));
    busy_until[v] = std::max(busy_until[v], replay.end[n]);
    const Ns held = replay.start(n) - idle_since;
    if (!device || !replay.movable[n] || views[v].index->cpu_only() || held < held_long) continue;
    delays[v].push_back(held);
    found[v].total += held;
    if (held <= found[v].worst) continue;
    found[v].worst = held;
    found[v].worst_at = replay.start(n) - held + graph.origin;
  }
  std::vector<HeldDevice> listed;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (delays[v].size() < held_often) continue;
    const Ns wall = views[v].steps.back().end - views[v].steps.front().start;
    if (static_cast<double>(found[v].total.count()) < held_much * static_cast<double>(wall.count()))
      continue;
    found[v].rank = views[v].rank;
    found[v].count = delays[v].size();
    found[v].median = upper_median(delays[v]);
    if (!slices[v].empty()) found[v].slice = upper_median(slices[v]);
    listed.push_back(found[v]);
  }
  return listed;
}

// What graph and replay say of themselves.
Explanation explanation_of(const Replay& replay) {
  const StepGraph& graph = *replay.graph;
  Explanation e;
  e.step = replay.step;
  e.residual_share = replay.residual_share;
  e.nodes = graph.size();
  e.edges = graph.graph.preds.size();
  e.joined = graph.joined;
  e.unjoined = graph.unjoined;
  e.removed_edges = graph.removed_edges;
  e.negative_delays = graph.negative_delays;
  return e;
}

// What the graph does not explain of the critical path.
double unexplained_share(const CriticalPath& path) {
  if (path.length <= Ns{0}) return 0;
  const Ns unexplained = path.residual + path.not_recorded + path.unjoined;
  return static_cast<double>(unexplained.count()) / static_cast<double>(path.length.count());
}

// A gain that may be hidden becomes a range (explanation.h). Changes of work in one direction do
// not move the step in the other; another order of the same work may.
void state_range(const Explanation& e, WhatIf& w) {
  if (!w.refused.empty() || w.nodes == 0 || !(e.refused || doubts(e, w.saved))) return;
  const bool either = w.scenario.change == Change::bucket || w.scenario.change == Change::prefetch;
  const bool saves = w.saved >= Ns{0};
  const Ns error = gain_error(e);
  const Ns delays{
      e.refused ? std::llround(std::abs(e.residual_share) * static_cast<double>(e.step.count()))
                : 0};
  Ns longest = w.step + error;
  Ns shortest = w.shortest_step.value_or(w.step) - error - delays;
  if (e.refused && saves) longest = std::max(longest, e.step);
  if (e.refused && !saves) shortest = std::min(shortest, e.step);
  if (!either && saves) longest = std::min(longest, e.step);
  if (!either && !saves) shortest = std::max(shortest, e.step);
  w.step = longest;
  w.shortest_step = std::max(Ns{0}, shortest);
  w.saved = e.step - longest;
  w.removed = w.added = std::nullopt;
  w.beside_fault = std::nullopt;
  w.doubted = true;
}

// Leaves out what the replay's error may have made, and refuses if nothing else is left.
void bound_gains(const ExplanationInputs& inputs, Explanation& e) {
  if (gain_error(e) == Ns{0} && !e.refused) return;
  for (auto* answers : {&e.what_ifs, &e.asked})
    for (WhatIf& w : *answers) state_range(e, w);
  std::erase_if(e.faults, [&](const StepFault& f) { return doubts(e, f.gain); });
  if (e.buckets && doubts(e, e.buckets->best.saved)) e.buckets.reset();
  std::ranges::stable_sort(e.what_ifs, std::ranges::greater{}, &WhatIf::saved);
  const bool stated = !e.faults.empty() || !std::ranges::all_of(e.what_ifs, &WhatIf::doubted);
  if (!inputs.standing || e.refused || stated) return;
  e.refused = true;
  e.what_ifs.clear();
  if (inputs.pipeline != nullptr) e.bubble = bubble_shares(*inputs.pipeline);
}

// Where the processes of a crew share the questions, each is answered by one of them.
Workers own_workers(const ExplanationInputs& inputs) {
  return inputs.threads.alone() ? inputs.threads : Workers(inputs.threads.threads);
}

bool stopped(const ExplanationInputs& inputs) {
  return inputs.stop != nullptr && inputs.stop->requested();
}

// A question that is not asked any more once the caller has asked to stop.
template <class T, class Ask>
SharedQuestion question(const ExplanationInputs& inputs, T& answer, Ask ask) {
  return shared_question(answer, [&inputs, ask] { return stopped(inputs) ? T() : ask(); });
}

void answer_standing(const ExplanationInputs& inputs, WhatIfInputs& what, Explanation& e) {
  const bool large = what.replay.graph->size() >= many_nodes;
  const GradientBuckets buckets = find_gradient_buckets(what);
  what.traffic = &buckets.traffic;
  if (large) return_freed_memory();
  const std::vector<SharedQuestion> questions = {
      question(inputs, e.faults,
               [&] { return find_faults(what, own_workers(inputs), inputs.stop); }),
      question(inputs, e.bubble,
               [&] {
                 return inputs.pipeline == nullptr ? std::vector<BubbleShares>()
                                                   : bubble_shares(*inputs.pipeline, what);
               }),
      question(inputs, e.buckets, [&] { return search_buckets(what, buckets, 1, inputs.stop); }),
      question(inputs, e.early_waits,
               [&] { return sum_early_waits(what, find_early_waits(what)); })};
  ask_shared(questions, inputs.threads);
  if (stopped(inputs)) return;
  const bool devices =
      std::ranges::none_of(inputs.views, [](const RankView& v) { return v.index->cpu_only(); });
  const Scenario* fault = !e.faults.empty() && devices ? &e.faults.front().scenario : nullptr;
  if (large) return_freed_memory();
  e.what_ifs = standing_what_ifs(what, fault, inputs.threads, inputs.stop);
  what.traffic = nullptr;
  if (!e.buckets) return;
  const auto after = std::ranges::upper_bound(e.what_ifs, e.buckets->best.saved,
                                              std::ranges::greater{}, &WhatIf::saved);
  e.what_ifs.insert(after, e.buckets->best);
}

// The gains. If no gain can be stated, only the requested changes are answered, by a range.
void answer(const ExplanationInputs& inputs, WhatIfInputs& what, Explanation& e) {
  if (e.refused && inputs.pipeline != nullptr) e.bubble = bubble_shares(*inputs.pipeline);
  if (e.refused && inputs.scenarios.empty()) return;
  const RowTimes row_times = find_row_times(what.replay, inputs.views, inputs.threads);
  if (stopped(inputs)) return;
  what.row_times = &row_times;
  if (inputs.pipeline != nullptr) what.micro_batches = inputs.pipeline->micro_batches;
  if (inputs.standing && !e.refused)
    answer_standing(inputs, what, e);
  else if (inputs.pipeline != nullptr && !e.refused)
    e.bubble = bubble_shares(*inputs.pipeline, what);
  e.asked = what_if(what, inputs.scenarios, inputs.threads, inputs.stop);
  bound_gains(inputs, e);
}

}  // namespace

bool mispredicts(const Explanation& e, double tolerated) {
  return e.held_out && e.held_out->error > tolerated &&
         e.held_out->error > variation_left * e.held_out->variation;
}

Ns gain_error(const Explanation& e) {
  if (!mispredicts(e, replay_error_large)) return Ns{0};
  return Ns{std::llround(e.held_out->error * static_cast<double>(e.step.count()))};
}

bool doubts(const Explanation& e, Ns gain) {
  return static_cast<double>(std::abs(gain.count())) <
         trusted_gain * static_cast<double>(gain_error(e).count());
}

std::optional<Explanation> explain(const ExplanationInputs& inputs) {
  std::optional<StepGraph> built;
  if (!inputs.graph) built = build_step_graph(inputs.views, inputs.collectives, inputs.threads);
  const StepGraph& graph = built ? *built : *inputs.graph;
  if (std::ranges::all_of(graph.begin, [](std::uint32_t n) { return n == no_node; }) ||
      stopped(inputs))
    return std::nullopt;
  const Replay replay = make_replay(graph, inputs.views);
  CountedSteps counted;
  if (inputs.steps.empty()) counted = count_steps(inputs.views, graph.clocks_comparable);
  const auto steps =
      inputs.steps.empty() ? std::span(std::as_const(counted.of_view)) : inputs.steps;
  Explanation e = explanation_of(replay);
  const std::vector<std::string> roles = roles_to_compare(inputs.roles);
  if (stopped(inputs)) return std::nullopt;
  const PeerMedians medians = peer_medians(replay, inputs.views, roles, inputs.threads);
  if (graph.size() >= many_nodes) return_freed_memory();
  const std::vector<SharedQuestion> questions = {
      question(inputs, e.held_out,
               [&] {
                 return predict_held_out(replay, inputs.views, inputs.collectives.matches,
                                         medians.pieces, own_workers(inputs));
               }),
      question(inputs, e.blame,
               [&] { return find_blame(replay, inputs.views, inputs.collectives, medians); }),
      question(inputs, e.held, [&] { return held_devices(replay, inputs.views); }),
      question(inputs, e.path, [&] {
        return find_critical_path(replay, inputs.views, steps, inputs.collectives.matches,
                                  inputs.phases);
      })};
  ask_shared(questions, inputs.threads);
  if (stopped(inputs)) return std::nullopt;
  e.unexplained_share = unexplained_share(e.path);
  e.refused =
      e.unexplained_share > unexplained_refused ||
      (mispredicts(e, replay_error_large) && e.held_out->fulfilled.value_or(1) < least_fulfilled);
  WhatIfInputs what{replay,  inputs.views,  inputs.collectives, roles,
                    medians, inputs.phases, inputs.units,       inputs.messages};
  what.pipeline = inputs.pipeline;
  if (inputs.visit) inputs.visit(what);
  if (!stopped(inputs)) answer(inputs, what, e);
  return e;
}

}  // namespace stepscope
