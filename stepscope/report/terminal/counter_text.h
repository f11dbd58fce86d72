// SPDX-License-Identifier: Apache-2.0
// The figures of hardware counters on the terminal.
#pragma once

#include <string>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// One line a rank with samples, then the longest kernels with counters of the first rank that has
// any. Empty without counters.
[[nodiscard]] std::string counters_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
