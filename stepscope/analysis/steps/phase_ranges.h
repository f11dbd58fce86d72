// SPDX-License-Identifier: Apache-2.0
// The program's own ranges of whole phases: record_function("forward"), an NVTX range
// "optimizer_step". Where a step has such ranges of a phase, they are that phase: nothing outside
// them is of it, whatever operators look like.
#pragma once

#include <array>
#include <cstddef>
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

// The first step whose annotation ends after an instant, or the number of steps.
[[nodiscard]] std::size_t step_until(std::span<const Step> steps, Ns instant);

class PhaseRanges {
 public:
  PhaseRanges(const Trace& trace, const RankIndex& rank, std::span<const Step> steps);

  // The parts of `spans`, which are disjoint and in time order, that these ranges allow.
  [[nodiscard]] std::vector<PhaseSpan> allowed(std::vector<PhaseSpan> spans) const;

 private:
  // The ranges of one step, by Phase: disjoint, in time order.
  using OfStep = std::array<std::vector<PhaseSpan>, phase_count>;

  std::span<const Step> steps_;
  std::vector<OfStep> ranges_;  // by step; empty if the trace has no such range
};

}  // namespace stepscope
