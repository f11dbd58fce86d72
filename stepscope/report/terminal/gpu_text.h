// SPDX-License-Identifier: Apache-2.0
// The readings of GPUs on the terminal.
#pragma once

#include <string>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// One line a rank: its GPU's clock, power, temperature, and what limits its clock. Empty without
// logs that tell of a rank.
[[nodiscard]] std::string gpu_readings_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
