// SPDX-License-Identifier: Apache-2.0
// Every operation of a plan as a table: its arithmetic, traffic, kept bytes, communication, and its
// time alone. One row stands for all layers of equal cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/cost/layer/layer_conventions.h"
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
  LayerRow ideal{};  // the same at the rated peaks

  // FLOPs per byte of memory traffic, forward and backward; 0 without traffic.
  [[nodiscard]] double intensity() const {
    const double bytes = operation.forward.bytes() + operation.backward.bytes();
    const double flops = operation.forward.flops().value + operation.backward.flops().value;
    return bytes > 0 ? flops / bytes : 0;
  }
};

// The sum of a part's rows over all its layers; of the whole model if `part` is "all". Layers are
// summed over all stages of the pipeline.
struct OperationSum {
  std::string_view part;
  std::int64_t count = 1;  // layers of the part
  Flops matrix_forward{};
  Flops matrix_backward{};
  Flops vector_forward{};
  Flops vector_backward{};
  double bytes_forward = 0;
  double bytes_backward = 0;
  double kept_bytes = 0;
  double parameters = 0;
  double weight_bytes = 0;  // as in LayerRow
  double weight_gradient_bytes = 0;
  double sent_forward = 0;
  double sent_backward = 0;
  double forward = 0;  // seconds, as in OperationRow
  double backward = 0;
  double communication_forward = 0;
  double communication_backward = 0;
};

// One sum per part, in the order of the parts, then "all" with the number of all layers.
[[nodiscard]] std::vector<OperationSum> operation_sums(const std::vector<OperationRow>& rows);

// In model order. `plan` must be evaluable in `context`.
[[nodiscard]] std::vector<OperationRow> operation_rows(const CostContext& context,
                                                       const Plan& plan);

// A table of one part of a layer by the conventions of a text.
struct LayerTable {
  // "attention", "linear_attention" or "mamba", and "feed_forward"; of further kinds of layers: "
  // 2"
  std::string name;
  std::int64_t layers = 1;       // with these rows
  std::vector<LayerRow> rows{};  // times at the rated peaks
  LayerSum sum{};                // over all these layers
};
// The tables of each kind of layer: one for each part that it has. REQUIRES: as operation_rows.
[[nodiscard]] std::vector<LayerTable> layer_tables(const CostContext& context, const Plan& plan,
                                                   const LayerConventions& conventions);

// Bytes sent by one micro-batch in this pass: whole buffers (operation.h).
[[nodiscard]] double communicated_bytes(const Pass& pass);

}  // namespace stepscope
