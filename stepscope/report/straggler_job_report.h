// SPDX-License-Identifier: Apache-2.0
// A job's straggler analysis (analysis/job_table/straggler_job.h) as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

// Needs straggler_job of the analysis.
[[nodiscard]] std::string straggler_text(const Analysis& report, const TextOptions& options);
// The value of `straggler_job`.
[[nodiscard]] Json straggler_job_json(const StragglerJob& job);

}  // namespace stepscope
