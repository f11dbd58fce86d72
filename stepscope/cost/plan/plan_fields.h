// SPDX-License-Identifier: Apache-2.0
// Every field of a plan in one table: its key in a plan file, its flag on the command line, its
// bounds and one line of help. The flags of `predict` and `plan`, --vary, plan files and
// check_plan all use this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

template <class Enum>
struct PlanChoice {
  Enum Plan::* member;
  std::span<const std::string_view> names;
  std::string_view noun;  // "tensor layout", for messages about a wrong name
};

using PlanMember =
    std::variant<std::monostate, std::int64_t Plan::*, int Plan::*, bool Plan::*,
                 std::vector<std::int64_t> Plan::*, Bytes Plan::*, int Precision::*,
                 PlanChoice<TensorLayout>, PlanChoice<ContextExchange>, PlanChoice<Schedule>,
                 PlanChoice<Recompute>, PlanChoice<Residence>, PlanChoice<CudaGraphs>,
                 PlanChoice<ExpertDispatch>, RecomputeModules Plan::*, std::int64_t TrainedParts::*,
                 LoraTargets TrainedParts::*, ModelParts TrainedParts::*>;

// The largest value of a field: a number, the plan's devices or the model's layers.
struct PlanBound {
  enum class Of : std::uint8_t { number, devices, layers };
  Of of = Of::number;
  std::int64_t number = 0;
};

struct PlanField {
  std::string_view name;   // the flag without dashes: "tp", "tensor-layout"; empty: no flag
  std::string_view key;    // in a plan file; empty: no key of its own
  std::string_view value;  // notation of the flag's value in the help; empty: a switch
  std::string_view what;   // one line of help
  PlanMember member{};
  std::int64_t least = 0;
  PlanBound most{};
  // Reads the flag's text if it differs from the member's notation; else null.
  Result<Done> (*read)(Plan& plan, std::string_view text) = nullptr;
};

// All fields in the order of plan files. Keys of "precision" are members of Precision.
[[nodiscard]] std::span<const PlanField> plan_table();
// The fields with a flag.
[[nodiscard]] std::span<const PlanField> plan_fields();

// Null without such a field; '-' and '_' are equal.
[[nodiscard]] const PlanField* find_plan_field(std::string_view name);

// Sets a field by its flag's name. An unknown name is an error that suggests the nearest names. A
// wrong text is an error that shows the notation.
[[nodiscard]] Result<Done> set_plan_field(Plan& plan, std::string_view name, std::string_view text);

}  // namespace stepscope
