// SPDX-License-Identifier: Apache-2.0
// What a prediction's figures come from: each one's formula, the values in it, and the result
// (docs/explanation/performance-model.md has them all; formula.h how they are written).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope {

// Every name that explain() knows beside the operations of a model (operation_rows.h): the terms of
// the step, those of the memory, then what they are made of.
[[nodiscard]] std::vector<std::string_view> explained_names();

// A line, or for an operation a line each for its passes and for what they send. REQUIRES: as
// evaluate() does. Errors: what the machine lacks; a name that is unknown, with the nearest ones.
[[nodiscard]] Result<std::vector<std::string>> explain(CostContext& context, const Plan& plan,
                                                       std::string_view name);
// The lines of all explained_names(), then of all operations.
[[nodiscard]] Result<std::vector<std::string>> explain_all(CostContext& context, const Plan& plan);

[[nodiscard]] Result<std::string> explain(CostContext& context, const Plan& plan, StepTerm term);
[[nodiscard]] Result<std::string> explain(CostContext& context, const Plan& plan, MemoryTerm term);

}  // namespace stepscope
