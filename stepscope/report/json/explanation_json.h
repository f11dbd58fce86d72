// SPDX-License-Identifier: Apache-2.0
// The dependency graph's answers and the findings as JSON (docs/reference/json.md).
#pragma once

#include <span>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// Null where there is none.
[[nodiscard]] Json explanation_json(const JobResult& job);
// Without path and blame: what `whatif` answers.
[[nodiscard]] Json replay_json(const Explanation& explanation);
[[nodiscard]] Json scenarios_json(const Explanation& explanation,
                                  std::span<const WhatIf> scenarios);

[[nodiscard]] Json findings_json(std::span<const Finding> findings, const JobResult& job);

}  // namespace stepscope
