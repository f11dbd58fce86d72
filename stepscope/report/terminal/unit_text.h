// SPDX-License-Identifier: Apache-2.0
// Waits for the parameters of units (analysis/ranks/unit_waits.h) for the terminal.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// The units whose parameters came late, latest first; empty where none is known.
[[nodiscard]] std::string unit_waits_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
