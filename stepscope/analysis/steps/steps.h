// SPDX-License-Identifier: Apache-2.0
// Where the steps of one rank begin and end (DESIGN: "Rank, step, clock"). A step begins with the
// first device operation launched inside its annotation, or with the annotation if there is none.
// It ends where the next step begins. The last step ends with its annotation or its last device
// operation, whichever is later. So does a step whose successor by number is missing: time that was
// not profiled belongs to no step. A last annotation that launched nothing on the device and is
// less than half as long as each of the others is no step: the profiler was stopped in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct Step {
  // n of ProfilerStep#n. If a name has no number or two are equal, all steps get ordinals.
  std::int64_t index = 0;
  std::string name;  // "ProfilerStep#12"; "window" for the whole trace
  Ns host_start{};   // the annotation on the host; the whole trace for "window"
  Ns host_end{};
  Ns start{};  // the step: [start, end)
  Ns end{};
};

struct StepOptions {
  std::string annotation;  // a name or the part before its number; empty = iteration_name()
};

// In time order, without overlap. Uses the main thread's annotations if it has any. An annotation
// inside another one is part of it. Without annotations the steps are what lies between the ends of
// PyTorch's "Optimizer.step#…" rows, of which there must be three: "update 1", "update 2", ….
// Without those there is one step named "window": the
// window of all device operations, or of the main thread if there are none. Empty only for a trace
// without slices.
[[nodiscard]] std::vector<Step> find_steps(const Trace& trace, const RankIndex& rank,
                                           const StepOptions& options = {});

// The time of [first event, last event] of the rank outside its steps. The steps and these three
// sum to that window.
struct OutsideSteps {
  Ns before{};
  Ns between{};
  Ns after{};
};
[[nodiscard]] OutsideSteps outside_steps(const RankIndex& rank, std::span<const Step> steps);

}  // namespace stepscope
