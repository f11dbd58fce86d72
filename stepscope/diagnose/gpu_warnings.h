// SPDX-License-Identifier: Apache-2.0
// What logs of GPUs beside the traces do not tell, and why.
#pragma once

#include "stepscope/analysis/runs/job.h"
#include "stepscope/say/message.h"

namespace stepscope {

// Empty without logs.
[[nodiscard]] Messages gpu_log_warnings(const JobResult& job);

}  // namespace stepscope
