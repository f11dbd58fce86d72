// SPDX-License-Identifier: Apache-2.0
// The readings of GPUs and the figures of their hardware counters on the terminal.
#pragma once

#include <string>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// One line a rank: its GPU's clock, power, temperature, and what limits its clock. Empty without
// logs that tell of a rank.
[[nodiscard]] std::string gpu_readings_text(const JobResult& job, std::size_t width);

// One line a rank with samples, then the longest kernels with counters of the first rank that has
// any. Empty without counters.
[[nodiscard]] std::string counters_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
