// SPDX-License-Identifier: Apache-2.0
// The dependency graph's answers as JSON and as text (docs/reference/json.md, "explanation").
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/report/json_values.h"

namespace stepscope {

// "matmul 1.1 × as fast", "rank 3 as its peers".
[[nodiscard]] std::string scenario_words(const Scenario& scenario);

// Null where there is none.
[[nodiscard]] Json explanation_json(const JobResult& job);
// Without path and blame: what `whatif` answers.
[[nodiscard]] Json replay_json(const Explanation& explanation);
[[nodiscard]] Json scenarios_json(const Explanation& explanation,
                                  std::span<const WhatIf> scenarios);

// The sections "Critical path", "Who is waited for" and "What a change would buy"; empty without.
[[nodiscard]] std::string explanation_text(const JobResult& job, std::size_t width);
[[nodiscard]] std::string scenarios_text(const Explanation& explanation,
                                         std::span<const WhatIf> scenarios, std::size_t most,
                                         std::size_t width);

}  // namespace stepscope
