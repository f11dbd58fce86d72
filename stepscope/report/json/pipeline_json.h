// SPDX-License-Identifier: Apache-2.0
// A pipeline's bubble as JSON (docs/reference/json.md); null without a pipeline.
#pragma once

#include <optional>

#include "stepscope/analysis/job_table/job_bubble.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json pipeline_json(const JobResult& job);
// Of a job's table.
[[nodiscard]] Json job_bubble_json(const std::optional<JobBubble>& bubble);

}  // namespace stepscope
