// SPDX-License-Identifier: Apache-2.0
// Everything that a plan says, by the name it has on the command line: one table for the flags of
// `predict`, for --compare and for what `plan` is told to fix.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

struct PlanField {
  std::string_view name;   // "tp", "tensor-layout": the flag without its dashes
  std::string_view value;  // how its value is written in the help; empty: a switch
  std::string_view what;
  // Takes the value in. The error says what is wrong with the text and how it is written.
  Result<Done> (*set)(Plan& plan, std::string_view text);
};

[[nodiscard]] std::span<const PlanField> plan_fields();

// Null where there is none; '-' and '_' are the same.
[[nodiscard]] const PlanField* find_plan_field(std::string_view name);

// Sets by name. An unknown name is an error that suggests the nearest ones.
[[nodiscard]] Result<Done> set_plan_field(Plan& plan, std::string_view name, std::string_view text);

}  // namespace stepscope
