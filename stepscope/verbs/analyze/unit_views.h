// SPDX-License-Identifier: Apache-2.0
// Whether the parameters of each sharded unit arrived in time: JSON and text.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// Null where no trace shows its units.
[[nodiscard]] Json unit_waits_json(const JobResult& job);

// The units whose parameters came late, latest first; empty where no unit is known.
[[nodiscard]] std::string unit_waits_text(const JobUnits& units, std::size_t width);

}  // namespace stepscope
