// SPDX-License-Identifier: Apache-2.0
// Waits for the parameters of units (analysis/ranks/unit_waits.h) as JSON and as text.
#pragma once

#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

// Null where no trace tells its units.
[[nodiscard]] Json unit_waits_json(const JobResult& job);
// The units whose parameters came late, latest first; empty where none is known.
[[nodiscard]] std::string unit_waits_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
