// SPDX-License-Identifier: Apache-2.0
// The bytes a layer keeps from forward to backward and the work it repeats, by the plan's
// recomputation (Korthikanti et al. 2022; full: Chen et al. 2016).
#pragma once

#include <cstdint>
#include <span>

#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// The recomputation of this layer of a stage (from 0). every_k keeps the first of each k layers
// whole and fully recomputes the others.
[[nodiscard]] Recompute recompute_at(const Plan& plan, std::int64_t layer_of_stage);

// Marks the operations of a layer that the plan's recompute_modules repeat (Operation::again), and
// moves what their repetition brings back from kept_bytes to again_bytes.
void repeat_modules(const Plan& plan, std::span<Operation> operations);

// The share of the operation's forward pass, including communication, that backward repeats first:
// all, nothing, or half of the matmuls.
[[nodiscard]] double share_again(const Operation& operation, Recompute how);

// Bytes that a layer of `operations` holds from its forward pass to its backward pass. Selective
// keeps the inputs of attention's core. Operations keeps the layer's input, the core's output and
// statistics, and the output of every second matmul (Operation::product_outputs). Full keeps the
// layer's input (layer_input_bytes). `how` is a result of recompute_at: none to full.
[[nodiscard]] double kept_bytes(std::span<const Operation> operations, Recompute how,
                                double input_bytes);
[[nodiscard]] Formula kept_bytes_formula(std::span<const Operation> operations, Recompute how,
                                         double input_bytes);

// Additional bytes while this layer runs backward; for one layer at a time.
[[nodiscard]] double recomputed_bytes(std::span<const Operation> operations, Recompute how,
                                      double input_bytes);

}  // namespace stepscope
