// SPDX-License-Identifier: Apache-2.0
// Waits for the parameters of units (analysis/ranks/unit_waits.h) as JSON.
#pragma once

#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// Null where no trace tells its units.
[[nodiscard]] Json unit_waits_json(const JobResult& job);

}  // namespace stepscope
