// SPDX-License-Identifier: Apache-2.0
// In which part of training each host thread is, over time. Evidence, innermost row first: names
// (phase_names.h), and operators with an autograd sequence number, which are forward; forward
// inside backward is recompute (activation checkpointing). A thread without evidence at an instant
// shows no phase there.
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
  // The main thread and those of the backward graph together. On the main thread operators before
  // the last backward of their step are forward where nothing else is known; silence between two
  // spans of one phase belongs to it.
  std::vector<PhaseSpan> host;

  // Of a launch by `thread`: what the thread itself shows, else the host.
  [[nodiscard]] Phase at(TrackId thread, Ns instant) const;
};

[[nodiscard]] HostPhases host_phases(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps);

// The phase of the span that holds an instant.
[[nodiscard]] std::optional<Phase> phase_at(std::span<const PhaseSpan> spans, Ns instant);

}  // namespace stepscope
