// SPDX-License-Identifier: Apache-2.0
// The dependency graph's answers for the terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/pipeline/whatif.h"

namespace stepscope {

// The sections "Critical path", "Who is waited for" and "What a change would buy"; empty without.
[[nodiscard]] std::string explanation_text(const JobResult& job, std::size_t width);
[[nodiscard]] std::string scenarios_text(const Explanation& explanation,
                                         std::span<const WhatIf> scenarios, std::size_t most,
                                         std::size_t width);
// The answers of `stepscope whatif`.
[[nodiscard]] std::string whatif_text(const WhatIfResult& result, std::size_t width);

}  // namespace stepscope
