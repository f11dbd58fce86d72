// SPDX-License-Identifier: Apache-2.0
// Work of one operator call from its recorded shapes: floating-point operations of matrix products,
// convolutions and attention, and the least bytes that any operator must move (each input read
// once, each output written once).
//
// Conventions: a product of m×k and k×n counts 2·m·n·k. Causal attention counts half of the square
// (S²/2 pairs). Rectangular causal masks are aligned to the lower right corner. Sliding windows
// count their band. The backward of a fused attention counts its five products; the product that
// rebuilds the scores is also given as `recompute`. Elementwise arithmetic has no flops here:
// unknown, not zero. If the trace lacks a needed argument, the result is empty.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

struct OpCost {
  std::optional<Flops> flops{};  // executed; empty without products and for unknown shapes
  Flops recompute{};             // the part of `flops` that the model does not require
  std::optional<Bytes> bytes{};
  OperandFormat precision = OperandFormat::other;  // of the first tensor; fp32 may run as tf32
};

// `name` is as in the trace ("aten::addmm"). Covers only an operator's own computation.
// aten::linear, aten::matmul and similar operators have flops too, so count at most one of nested
// operators (op_work.h counts the one that launches the kernels).
[[nodiscard]] OpCost op_cost(std::string_view name, const OpInputs& inputs);

// The parts of op_cost() that others use. `base_name` is the name without "aten::"; operators of
// other libraries keep their namespace.
struct AttentionFlops {
  Flops total{};
  Flops recompute{};
};
[[nodiscard]] std::optional<AttentionFlops> attention_flops(std::string_view base_name,
                                                            const OpInputs& inputs);

// Bytes if each input is read once and each output written once. Empty if the shapes do not
// determine the outputs.
[[nodiscard]] std::optional<Bytes> moved_bytes(std::string_view base_name, const OpInputs& inputs);

}  // namespace stepscope
