// SPDX-License-Identifier: Apache-2.0
// A job's straggler analysis (analysis/job_table/straggler_job.h) for the terminal.
#pragma once

#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

// Needs straggler_job of the analysis.
[[nodiscard]] std::string straggler_text(const Analysis& report, const TextOptions& options);

}  // namespace stepscope
