// SPDX-License-Identifier: Apache-2.0
// The phase of training of each host thread over time. The innermost row counts first. Evidence:
// the program's ranges of whole phases (phase_ranges.h); names (phase_names.h); before the last
// backward of their step, operators with an autograd sequence number are forward, collectives
// excepted; forward inside backward is recompute (activation checkpointing). A thread without
// evidence at an instant has no phase there.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/analysis/steps/phase_ranges.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct HostPhases {
  // By track: disjoint, in time order, without `other`.
  std::vector<std::vector<PhaseSpan>> threads;
  // The main thread and the threads of the backward graph together. Operators of the main thread
  // before the last backward of their step are forward if nothing else is known. A gap between two
  // spans of one phase belongs to that phase, and so do operators without evidence in it.
  std::vector<PhaseSpan> host;

  // The phase of a launch by `thread`: the thread's own phase if known, else the host's.
  [[nodiscard]] Phase at(TrackId thread, Ns instant) const;
};

[[nodiscard]] HostPhases host_phases(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps);

// The phase of the span that contains the instant.
[[nodiscard]] std::optional<Phase> phase_at(std::span<const PhaseSpan> spans, Ns instant);

// A second axis through every step: forward, backward, recompute, optimizer, data, other. The
// phases of a step sum to its wall time as integers. Time in which the device works belongs to the
// phase of the work's launch. Compute goes before communication, communication before copies; of
// several operations the most frequent phase counts. Idle time belongs to the host's phase. In a
// CPU-only trace all time belongs to the host's phase. Work whose launch is not in the trace is
// `other`.

struct StepPhases {
  std::array<Ns, phase_count> time{};
  // The part in which communication runs and no compute hides it. Zero in CPU-only traces.
  std::array<Ns, phase_count> communication{};

  Ns& operator[](Phase p) { return time[static_cast<std::size_t>(p)]; }
  const Ns& operator[](Phase p) const { return time[static_cast<std::size_t>(p)]; }
  [[nodiscard]] Ns sum() const;
};

// Over steps, in ns.
struct PhaseSummary {
  Phase phase = Phase::other;
  std::size_t steps = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  std::optional<double> stdev;          // of the sample; absent for one step
  std::optional<double> communication;  // mean, exposed; absent without device rows
};

struct PhaseBudget {
  std::vector<StepPhases> steps;  // parallel to the given steps
  StepPhases total;
};

// `device` is an index into rank.devices (TimeBudget::chosen); ignored for CPU-only traces.
[[nodiscard]] PhaseBudget phase_budget(const Trace& trace, const RankIndex& rank,
                                       std::span<const Step> steps, const HostPhases& phases,
                                       std::size_t device = 0);

// One row per phase with time, for the steps of one rank or of many. `device`: they have device
// rows.
[[nodiscard]] std::vector<PhaseSummary> summarize_phases(std::span<const StepPhases> steps,
                                                         bool device);

}  // namespace stepscope
