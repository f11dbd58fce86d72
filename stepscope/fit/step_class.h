// SPDX-License-Identifier: Apache-2.0
// The classes of a step for both the model's expectation and the trace's measurement. They exclude
// each other, and on both sides they sum to the step.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {

enum class StepClass : std::uint8_t {
  matmul,
  attention,
  norm,
  elementwise,  // includes copies by kernels, and work of no other class
  embedding,
  loss,
  optimizer,
  tensor_comm,  // exposed communication by dimension, without waiting for late ranks
  context_comm,
  expert_comm,
  pipeline_comm,
  data_comm,
  other_comm,  // of groups of unknown dimension
  bubble,      // waiting between pipeline stages
  wait,        // for late ranks elsewhere: always 0 in a model
  copy,        // exposed copies; expected: offload
  host         // nothing runs; expected: the device waits for launches
};
inline constexpr auto step_class_names = enum_names<StepClass::host>;
inline constexpr std::size_t step_class_count = step_class_names.size();

// Compilers fuse work between matrix products across these classes, so only their sum is compared.
constexpr bool is_pointwise(StepClass c) { return c >= StepClass::norm && c <= StepClass::loss; }

using StepSeconds = std::array<double, step_class_count>;

// The class of a kernel or an operator.
[[nodiscard]] StepClass class_of(NameClass kind);

// The class of exposed communication over `dimension`. Groups of the whole world and unnamed groups
// belong to the plan's only dimension.
[[nodiscard]] StepClass class_of(Dimension dimension, const Plan& plan);

}  // namespace stepscope
