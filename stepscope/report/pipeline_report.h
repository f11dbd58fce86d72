// SPDX-License-Identifier: Apache-2.0
// The faces of a pipeline's bubble: what each stage idles, in what, and what that is due to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/job_table/job_bubble.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

// docs/reference/json.md; null without a pipeline.
[[nodiscard]] Json pipeline_json(const JobResult& job);
// A row a stage, means over its ranks and steps. Empty without a pipeline.
[[nodiscard]] std::string pipeline_text(const JobResult& job, std::size_t width);
// Of a job's table: docs/reference/json.md; a row a stage, means over DP ranks and steps. Null and
// empty where there is none.
[[nodiscard]] Json job_bubble_json(const std::optional<JobBubble>& bubble);
[[nodiscard]] std::string job_bubble_text(const std::optional<JobBubble>& bubble,
                                          std::size_t width);

}  // namespace stepscope
