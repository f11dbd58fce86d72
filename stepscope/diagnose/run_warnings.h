// SPDX-License-Identifier: Apache-2.0
// What a reader of step times should know besides the figures: of two runs compared, and of a log.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/fit/log_rates.h"

namespace stepscope {

// Warm-up without an end, one launch an arm, drift.
[[nodiscard]] std::vector<std::string> compare_warnings(const RunComparison& runs);
// Restarts, cut lines, figures that contradict.
[[nodiscard]] std::vector<std::string> log_warnings(const LogFacts& log);

}  // namespace stepscope
