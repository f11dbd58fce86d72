// SPDX-License-Identifier: Apache-2.0
// A plan as JSON. The keys are the fields of Plan, and the flags of the command line: tp,
// tensor_layout, zero, ...; docs/reference/plans.md has all.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

// Absent fields take the defaults of Plan; of `devices` and `dp` one may be absent and follows from
// tp * cp * pp * dp = devices. Errors name `path`, line, column and field; whether a model can run
// by the plan is check_plan's to say.
[[nodiscard]] Result<Plan> parse_plan(std::string_view json, std::string_view path);
// The same from disk (--plan FILE).
[[nodiscard]] Result<Plan> read_plan(const std::string& path);

// All fields, in an order that reads well. parse_plan reads it back to the same. Ends with a line
// feed.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace stepscope
