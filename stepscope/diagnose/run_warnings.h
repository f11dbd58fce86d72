// SPDX-License-Identifier: Apache-2.0
// What a reader of step times should know besides the figures: of two runs compared, and of a log.
#pragma once

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/say/message.h"

namespace stepscope {

// Warm-up without an end, one launch an arm, drift.
[[nodiscard]] Messages compare_warnings(const RunComparison& runs);
// Restarts, cut lines, figures that contradict.
[[nodiscard]] Messages log_warnings(const LogFacts& log);

}  // namespace stepscope
