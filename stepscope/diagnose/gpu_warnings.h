// SPDX-License-Identifier: Apache-2.0
// What logs of GPUs beside the traces do not tell, and why.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Empty without logs.
[[nodiscard]] std::vector<std::string> gpu_log_warnings(const JobResult& job);

}  // namespace stepscope
