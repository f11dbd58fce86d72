// SPDX-License-Identifier: Apache-2.0
// What the recording has and lacks (analysis/recording/recording.h) for the terminal.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// One line a rank, then the longest start-up, then what is not looked for and why.
[[nodiscard]] std::string recording_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
