// SPDX-License-Identifier: Apache-2.0
// Where the steps of one rank begin and end (DESIGN: "Rank, step, clock"): a step begins where the
// first device operation launched inside its annotation begins (the annotation's own start where
// there is none) and ends where the next begins; the last ends with its annotation or its last
// device operation, whichever is later. So does a step whose successor by number is missing: what
// was not profiled belongs to no step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct Step {
  // n of ProfilerStep#n; ordinals for all where a name has no number or two have the same.
  std::int64_t index = 0;
  std::string name;  // "ProfilerStep#12"; "window" for the whole trace
  Ns host_start{};   // the annotation on the host; the whole trace for "window"
  Ns host_end{};
  Ns start{};  // the step: [start, end)
  Ns end{};
};

struct StepOptions {
  std::string annotation;  // a name, or what stands before its number; empty = iteration_name()
};

// In time order, without overlap. The main thread's annotations, where it has any; one inside
// another is part of it. Without annotations: one step, the window of all device operations (of the
// main thread where there are none) named "window". Empty only for a trace without slices.
[[nodiscard]] std::vector<Step> find_steps(const Trace& trace, const RankIndex& rank,
                                           const StepOptions& options = {});

// What of [first event, last event] of the rank lies outside its steps. Steps and these three add
// up to that window.
struct OutsideSteps {
  Ns before{};
  Ns between{};
  Ns after{};
};
[[nodiscard]] OutsideSteps outside_steps(const RankIndex& rank, std::span<const Step> steps);

}  // namespace stepscope
