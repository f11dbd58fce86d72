// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze` on a job's table of operations instead of traces.
#pragma once

#include <span>
#include <string>

#include "stepscope/cli/analyze_flags.h"

namespace stepscope {

// Of the tables that the inputs name (at least one); the exit code.
[[nodiscard]] int analyze_job_operations(const AnalyzeFlags& flags,
                                         std::span<const std::string> tables);

}  // namespace stepscope
