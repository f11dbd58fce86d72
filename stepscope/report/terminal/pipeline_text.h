// SPDX-License-Identifier: Apache-2.0
// A pipeline's bubble for the terminal: what each stage idles, in what, and what that is due to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "stepscope/analysis/job_table/job_bubble.h"
#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// A row a stage, means over its ranks and steps. Empty without a pipeline.
[[nodiscard]] std::string pipeline_text(const JobResult& job, std::size_t width);
// Of a job's table: means over DP ranks and steps. Empty where there is none.
[[nodiscard]] std::string job_bubble_text(const std::optional<JobBubble>& bubble,
                                          std::size_t width);

}  // namespace stepscope
