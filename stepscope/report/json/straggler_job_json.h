// SPDX-License-Identifier: Apache-2.0
// A job's straggler analysis (analysis/job_table/straggler_job.h) as JSON.
#pragma once

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// The value of `straggler_job`.
[[nodiscard]] Json straggler_job_json(const StragglerJob& job);

}  // namespace stepscope
