// SPDX-License-Identifier: Apache-2.0
// What the recording has and lacks (analysis/recording/recording.h) as JSON.
#pragma once

#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json recording_json(const JobResult& job);

}  // namespace stepscope
