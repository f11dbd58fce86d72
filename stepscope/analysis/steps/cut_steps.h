// SPDX-License-Identifier: Apache-2.0
// The steps that a file's early end broke. Such a step lacks rows of the host, calls or device
// operations, and its idle time is no idle time.
#pragma once

#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Takes the broken steps out of `steps` and returns them. A step is kept if every row up to its end
// was read (ImportNotes::cuts), the step after it begins with a device operation as this one does,
// no more of its launches lack their operation than in the best step, each matrix product calls the
// device's runtime, and its operators make at least 0.9 times as many calls as those of the step
// with most. Nothing is taken from a trace that was not cut, nor from one of the NCCL plugin: it
// writes each row when the row has ended, so a process that is killed leaves whole rows.
[[nodiscard]] std::vector<Step> take_broken_steps(const Trace& trace, const RankIndex& rank,
                                                  std::vector<Step>& steps);

}  // namespace stepscope
