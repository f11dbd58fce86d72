// SPDX-License-Identifier: Apache-2.0
// The origin of a prediction's figures: each figure's formula, its values, and its result.
// docs/dev/worked-formulas.md lists all; formula.h describes the notation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope {

// Every name that explain() knows besides the operations of a model (operation_rows.h): the terms
// of the step, the terms of the memory, then their parts.
[[nodiscard]] std::vector<std::string_view> explained_names();

// One line; for an operation one line per pass and per communication. REQUIRES: as evaluate().
// Errors: values that the machine lacks; an unknown name, with the nearest names.
[[nodiscard]] Result<std::vector<std::string>> explain(CostContext& context, const Plan& plan,
                                                       std::string_view name);
// The lines of all explained_names(), then of all operations.
[[nodiscard]] Result<std::vector<std::string>> explain_all(CostContext& context, const Plan& plan);

[[nodiscard]] Result<std::string> explain(CostContext& context, const Plan& plan, StepTerm term);
[[nodiscard]] Result<std::string> explain(CostContext& context, const Plan& plan, MemoryTerm term);

}  // namespace stepscope
