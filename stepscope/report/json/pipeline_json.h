// SPDX-License-Identifier: Apache-2.0
// A pipeline's bubble as JSON (docs/reference/json.md); null without a pipeline.
#pragma once

#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json pipeline_json(const JobResult& job);

}  // namespace stepscope
