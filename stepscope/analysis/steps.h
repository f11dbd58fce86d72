// SPDX-License-Identifier: Apache-2.0
// Where the steps of one rank begin and end (DESIGN: "Rank, step, clock"): a step begins where the
// first device operation launched inside its annotation begins (the annotation's own start where
// there is none) and ends where the next begins; the last ends with its annotation or its last
// device operation, whichever is later.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct Step {
  std::int64_t index = 0;  // n of ProfilerStep#n; ordinal for annotations without a number
  std::string name;        // "ProfilerStep#12"; "window" for the whole trace
  Ns host_start{};         // the annotation on the host
  Ns host_end{};
  Ns start{};  // the step: [start, end)
  Ns end{};
};

struct StepOptions {
  std::string annotation;  // a name, or a prefix before '#'; empty = ProfilerStep
};

// In time order, without overlap. Without annotations: one step, the window of all device
// operations (of the main thread where there are none) named "window". Empty only for a trace
// without slices.
[[nodiscard]] std::vector<Step> find_steps(const Trace& trace, const RankIndex& rank,
                                           const StepOptions& options = {});

}  // namespace stepscope
