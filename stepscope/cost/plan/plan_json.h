// SPDX-License-Identifier: Apache-2.0
// A plan as JSON. The keys are the fields of Plan and the flags of the command line: tp,
// tensor_layout, zero, ...; docs/reference/plan-fields.md lists all.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// Absent fields take the defaults of Plan. One of `devices` and `dp` may be absent; it follows from
// tp * cp * pp * dp = devices. Errors name `path`, line, column and field. check_plan decides if a
// model can run with the plan.
[[nodiscard]] Result<Plan> parse_plan(std::string_view json, std::string_view path);
// Reads a file (--plan FILE).
[[nodiscard]] Result<Plan> read_plan(const std::string& path);

// All fields, in a readable order. parse_plan reads it back unchanged. Ends with a line feed.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace stepscope
