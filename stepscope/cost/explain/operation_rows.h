// SPDX-License-Identifier: Apache-2.0
// Every operation of a plan as a table: its arithmetic, traffic, kept bytes, communication, and its
// time alone. One row stands for all layers of equal cost.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepscope/cost/layer/layer_table.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/step/cost_context.h"

namespace stepscope {

struct OperationRow {
  std::string_view part;   // "embedding", "layer", "head"; other kinds of layers: "layer 2", ...
  std::int64_t count = 1;  // number of layers with this operation
  Operation operation{};
  // Seconds of one micro-batch on one device. Communication is timed alone, without overlap.
  double forward = 0;
  double backward = 0;
  double communication_forward = 0;
  double communication_backward = 0;
  bool leaves_domain = false;  // its communication uses the network between domains
  LayerRow ideal{};            // the same at the rated peaks

  // FLOPs per byte of memory traffic, forward and backward; 0 without traffic.
  [[nodiscard]] double intensity() const {
    const double bytes = operation.forward.bytes() + operation.backward.bytes();
    const double flops = operation.forward.flops().value + operation.backward.flops().value;
    return bytes > 0 ? flops / bytes : 0;
  }
};

// In model order. `plan` must be evaluable in `context`.
[[nodiscard]] std::vector<OperationRow> operation_rows(const CostContext& context,
                                                       const Plan& plan);

// Matrix FLOPs per step, over all devices, that backward recomputes: counted in HFU and not in MFU.
// The last plan evaluated in `context` must be this one.
[[nodiscard]] Flops recomputed_flops(const CostContext& context, const Plan& plan);

// Bytes sent by one micro-batch in this pass: whole buffers (operation.h).
[[nodiscard]] double communicated_bytes(const Pass& pass);

}  // namespace stepscope
