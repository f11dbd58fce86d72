// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline, what each idles and why: JSON and text.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

[[nodiscard]] Json pipeline_json(const JobResult& job);

// A row a stage, means over its ranks and steps. Empty without a pipeline.
[[nodiscard]] std::string pipeline_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
