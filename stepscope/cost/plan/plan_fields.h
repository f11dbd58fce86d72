// SPDX-License-Identifier: Apache-2.0
// Every field of a plan in one table: its key in a plan file, its flag on the command line, its
// group and one line of help, its place in a Plan and its bounds. The flags of `predict` and
// `plan`, --vary, plan files, docs/reference/plan-fields.md, check_plan and its errors all use this
// table.
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
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// An enum, by the names of its values.
struct ChoiceRef {
  std::uint8_t* index;
  std::span<const std::string_view> names;
  std::string_view noun;  // "tensor layout", for messages about a wrong name
};
// A NameSet.
struct NamesRef {
  std::uint16_t* bits;
  std::span<const std::string_view> names;
  std::string_view noun;
};
// Bytes of an element, by the names of number formats.
struct WidthRef {
  int* bytes;
};
// A field's place in a plan; monostate: a flag that sets several fields.
using FieldRef = std::variant<std::monostate, std::int64_t*, int*, bool*,
                              std::vector<std::int64_t>*, Bytes*, WidthRef, ChoiceRef, NamesRef>;

// The largest value of a field: a number, the plan's devices or the model's layers.
struct PlanBound {
  enum class Of : std::uint8_t { number, devices, layers };
  Of of = Of::number;
  std::int64_t number = 0;
};

struct PlanField {
  std::string_view name;   // the flag without dashes: "tp", "tensor-layout"; empty: no flag
  std::string_view key;    // in a plan file, "precision.master_bytes" if nested; empty: no key
  std::string_view value;  // notation of the flag's value in the help; empty: a switch
  std::string_view group;  // of help
  std::string_view what;   // one line of help
  FieldRef (*in)(Plan& plan);
  std::int64_t least = 0;
  PlanBound most{};
  // Reads the flag's text if it differs from the member's notation; else null.
  Result<Done> (*read)(Plan& plan, std::string_view text) = nullptr;
};

// All fields in the order of plan files.
[[nodiscard]] std::span<const PlanField> plan_table();
// The fields with a flag.
[[nodiscard]] std::span<const PlanField> plan_fields();

// The field's place in a plan that is only read.
[[nodiscard]] FieldRef place_of(const PlanField& field, const Plan& plan);
// The place of a name in a list; other names of linear layers (lora_target_name) are known too.
[[nodiscard]] std::optional<std::size_t> index_of(std::span<const std::string_view> names,
                                                  std::string_view text);

// Null without such a field; '-' and '_' are equal.
[[nodiscard]] const PlanField* find_plan_field(std::string_view name);

// Sets a field by its flag's name. An unknown name is an error that suggests the nearest names. A
// wrong text is an error that shows the notation.
[[nodiscard]] Result<Done> set_plan_field(Plan& plan, std::string_view name, std::string_view text);

// A field's value as its flag is written; empty for a flag that sets several fields.
[[nodiscard]] std::string plan_field_text(const PlanField& field, const Plan& plan);

// The field at an address in the plan as messages name it: "--tp-rows", and with its value
// "--tp-rows 2". A field without a flag is named by its key: "recompute_every",
// "recompute_every = 2".
[[nodiscard]] std::string flag_of(const Plan& plan, const void* member);
[[nodiscard]] std::string flag_with_value(const Plan& plan, const void* member);

}  // namespace stepscope
