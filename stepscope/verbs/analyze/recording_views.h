// SPDX-License-Identifier: Apache-2.0
// What the recording has and what it lacks: JSON and text.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

[[nodiscard]] Json recording_json(const JobResult& job);

// One line a rank, then the longest start-up, then what is not looked for and why.
[[nodiscard]] std::string recording_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
