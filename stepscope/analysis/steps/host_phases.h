// SPDX-License-Identifier: Apache-2.0
// The phase of training of each host thread over time. The innermost row counts first. Evidence:
// names (phase_names.h); operators with an autograd sequence number are forward; forward inside
// backward is recompute (activation checkpointing). A thread without evidence at an instant has no
// phase there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct PhaseSpan {
  Ns start{};
  Ns end{};
  Phase phase = Phase::other;
};

struct HostPhases {
  std::vector<std::vector<PhaseSpan>>
      threads;  // by track; disjoint, in time order; without `other`
  // The main thread and the threads of the backward graph together. Operators of the main thread
  // before the last backward of their step are forward if nothing else is known. A gap between two
  // spans of one phase belongs to that phase.
  std::vector<PhaseSpan> host;

  // The phase of a launch by `thread`: the thread's own phase if known, else the host's.
  [[nodiscard]] Phase at(TrackId thread, Ns instant) const;
};

[[nodiscard]] HostPhases host_phases(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps);

// The phase of the span that contains the instant.
[[nodiscard]] std::optional<Phase> phase_at(std::span<const PhaseSpan> spans, Ns instant);

}  // namespace stepscope
