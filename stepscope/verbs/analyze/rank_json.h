// SPDX-License-Identifier: Apache-2.0
// One element of `ranks[]` (docs/reference/json/analyze.md).
#pragma once

#include <span>
#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

[[nodiscard]] Json rank_json(const Analysis& report, const RankResult& rank,
                             const std::string& source);
[[nodiscard]] Json budget_json(const Budget& budget);
[[nodiscard]] Json phases_json(std::span<const PhaseSummary> phases);

}  // namespace stepscope
