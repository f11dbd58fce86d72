// SPDX-License-Identifier: Apache-2.0
// A pipeline's bubble for the terminal: what each stage idles, in what, and what that is due to.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// A row a stage, means over its ranks and steps. Empty without a pipeline.
[[nodiscard]] std::string pipeline_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
