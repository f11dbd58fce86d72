// SPDX-License-Identifier: Apache-2.0
// What a layer keeps from forward to backward and what it runs again, by the plan's recomputation
// (Korthikanti et al. 2022; full: Chen et al. 2016).
#pragma once

#include <cstdint>
#include <span>

#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

// What happens to this layer of a stage (from 0): every_k keeps the first of each k layers whole
// and recomputes the others fully.
[[nodiscard]] Recompute recompute_at(const Plan& plan, std::int64_t layer_of_stage);

// What share of the operation's forward pass backward runs again first, communication included:
// all, nothing, or half of the matmuls.
[[nodiscard]] double share_again(const Operation& operation, Recompute how);

// Bytes that a layer of `operations` holds from its forward pass to its backward pass. Selective
// keeps what attention's core reads; operations the layer's input, the core's output and statistics
// and the output of every second matmul (Operation::product_outputs); full keeps the layer's input
// (layer_input_bytes). `how` is none to full: recompute_at's answer.
[[nodiscard]] double kept_bytes(std::span<const Operation> operations, Recompute how,
                                double input_bytes);
[[nodiscard]] Formula kept_bytes_formula(std::span<const Operation> operations, Recompute how,
                                         double input_bytes);

// Bytes that come back while this layer runs backward, on top of kept_bytes: of one layer at a
// time.
[[nodiscard]] double recomputed_bytes(std::span<const Operation> operations, Recompute how,
                                      double input_bytes);

}  // namespace stepscope
