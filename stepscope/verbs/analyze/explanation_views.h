// SPDX-License-Identifier: Apache-2.0
// What people and programs see of the replay: the critical path, scenarios and what they save,
// findings.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/analyze/whatif.h"

namespace stepscope {

// "matmul 1.1 × as fast", "rank 3 as its peers".
[[nodiscard]] Message scenario_words(const Scenario& scenario);

// Null without an explanation.
[[nodiscard]] Json explanation_json(const JobResult& job);
// Without path and blame: what `whatif` answers.
[[nodiscard]] Json replay_json(const Explanation& explanation);
[[nodiscard]] Json scenarios_json(const Explanation& explanation,
                                  std::span<const WhatIf> scenarios);

[[nodiscard]] Json findings_json(std::span<const Finding> findings, const JobResult& job);

// The sections "Critical path", "Who is waited for" and "What a change would buy"; empty without.
[[nodiscard]] std::string explanation_text(const std::optional<Explanation>& explanation,
                                           std::size_t width);
[[nodiscard]] std::string scenarios_text(const Explanation& explanation,
                                         std::span<const WhatIf> scenarios, std::size_t most,
                                         std::size_t width);
// The answers of `stepscope whatif`.
[[nodiscard]] std::string whatif_text(const WhatIfResult& result, std::size_t width);

}  // namespace stepscope
