// SPDX-License-Identifier: Apache-2.0
// What is wrong compared with peers, sibling groups, other steps or stages, and what the step would
// gain without it. A fault is more than its own variation over the steps explains, and its gain is
// the replay of the change that undoes it. A victim of another rank gains nothing by a change of
// its own and is no fault.
#pragma once

#include <vector>

#include "stepscope/analysis/replay/fault_changes.h"
#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/stop.h"

namespace stepscope {

// Sorted by gain, largest first. Calls that wait too often count with a third of their gain: they
// are habit, not a difference. Faults that are judged by the variation of steps need at least two
// steps that count; where one counts, a quarter of the step (StepFault::lacks_steps). O(nodes log
// nodes), and a replay for each suspect (a few dozen at most).
[[nodiscard]] std::vector<StepFault> find_faults(const WhatIfInputs& inputs, const Workers& workers,
                                                 const StopFlag* stop = nullptr);

}  // namespace stepscope
