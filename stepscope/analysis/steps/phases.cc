// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/phases.h"

#include <algorithm>
#include <numeric>

#include "stepscope/analysis/steps/interval_sweep.h"
#include "stepscope/analysis/steps/step_cursor.h"
#include "stepscope/base/result.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// Layers: compute, communication and copies by the phase of their launch, then the host.
constexpr std::size_t kinds = 4;
constexpr std::size_t host_kind = 3;
using Sweep = IntervalSweep<kinds * phase_count>;

std::size_t layer(std::size_t kind, Phase phase) {
  return kind * phase_count + static_cast<std::size_t>(phase);
}

std::size_t kind_of(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::kernel) return 2;
  return trace.is_compute(op) ? 0 : 1;
}

Phase phase_of(const Trace& trace, const RankIndex& rank, const HostPhases& phases, SliceId op) {
  const SliceId call = rank.launch(op);
  if (call == no_slice) return Phase::other;
  return phases.at(trace.slices.track[index(call)], trace.slices.start[index(call)]);
}

// The most frequent phase of the first kind with open intervals.
Phase pick(const Sweep::Open& open) {
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const auto first = open.begin() + static_cast<std::ptrdiff_t>(kind * phase_count);
    const auto most = std::max_element(first, first + phase_count);
    if (*most > 0) return static_cast<Phase>(most - first);
  }
  return Phase::other;
}

}  // namespace

Ns StepPhases::sum() const { return std::accumulate(time.begin(), time.end(), Ns{}); }

PhaseBudget phase_budget(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
                         const HostPhases& phases, std::size_t device) {
  PhaseBudget budget;
  budget.steps.resize(steps.size());
  if (steps.empty()) return budget;
  Sweep sweep;
  for (const PhaseSpan& span : phases.host)
    sweep.add(layer(host_kind, span.phase), span.start, span.end);
  if (!rank.cpu_only()) {
    for (const SliceId op : rank.devices[device].ops)
      sweep.add(layer(kind_of(trace, op), phase_of(trace, rank, phases, op)),
                trace.slices.start[index(op)], trace.slices.end(op));
  }
  StepCursor cursor(steps);
  sweep.run(steps.front().start, steps.back().end, [&](Ns start, Ns end, const Sweep::Open& open) {
    const Phase phase = pick(open);
    cursor.place(start, end,
                 [&](std::size_t step, Ns from, Ns to) { budget.steps[step][phase] += to - from; });
  });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    check(budget.steps[i].sum() == steps[i].end - steps[i].start,
          "the phases of a step sum to its wall time");
    for (std::size_t p = 0; p < phase_count; ++p) budget.total.time[p] += budget.steps[i].time[p];
  }
  return budget;
}

std::vector<PhaseSummary> summarize_phases(std::span<const StepPhases> steps) {
  std::vector<PhaseSummary> rows;
  std::vector<std::int64_t> times(steps.size());
  for (std::size_t p = 0; p < phase_count; ++p) {
    for (std::size_t i = 0; i < steps.size(); ++i) times[i] = steps[i].time[p].count();
    const std::optional<Summary> s = summarize(std::span<const std::int64_t>(times));
    if (!s || s->max <= 0) continue;
    rows.push_back({static_cast<Phase>(p), s->count, s->mean, s->min, s->max, s->stdev});
  }
  return rows;
}

}  // namespace stepscope
