// SPDX-License-Identifier: Apache-2.0
// Every operation of a plan as a table: what it computes, moves, keeps and sends, and how long it
// takes alone. One row stands for all layers that cost the same.
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
  std::int64_t count = 1;  // layers of the model that have it
  Operation operation{};
  // Seconds of one micro-batch on one device; communication alone, nothing overlapped.
  double forward = 0;
  double backward = 0;
  double communication_forward = 0;
  double communication_backward = 0;
  bool leaves_domain = false;  // what it sends goes over the network between domains
  LayerRow ideal{};            // the same at the peaks on paper

  // Flops a byte of memory traffic, forward and backward; 0 without traffic.
  [[nodiscard]] double intensity() const {
    const double bytes = operation.forward.bytes() + operation.backward.bytes();
    const double flops = operation.forward.flops().value + operation.backward.flops().value;
    return bytes > 0 ? flops / bytes : 0;
  }
};

// In model order. `context` is one that `plan` can be evaluated in.
[[nodiscard]] std::vector<OperationRow> operation_rows(const CostContext& context,
                                                       const Plan& plan);

// Matrix FLOPs that backward computes again in a step, of all devices: what HFU counts and MFU does
// not. `context` evaluated this plan last.
[[nodiscard]] Flops recomputed_flops(const CostContext& context, const Plan& plan);

// Bytes that one micro-batch sends in this pass: whole buffers (operation.h).
[[nodiscard]] double communicated_bytes(const Pass& pass);

}  // namespace stepscope
