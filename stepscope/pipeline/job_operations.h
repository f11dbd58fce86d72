// SPDX-License-Identifier: Apache-2.0
// A job's table of operations instead of traces: the what-if analysis of its stragglers.
#pragma once

#include <span>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/pipeline/analyze.h"
#include "stepscope/pipeline/progress.h"

namespace stepscope {

// `tables`: those among request.traces.inputs, one at least. Errors: wrong usage, as several tables
// or requests that only traces can answer. A table that cannot be read is a failure of the result.
[[nodiscard]] Result<AnalyzeResult> analyze_job_operations(const AnalyzeRequest& request,
                                                           std::span<const std::string> tables,
                                                           const Progress& progress);

}  // namespace stepscope
