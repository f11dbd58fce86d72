// SPDX-License-Identifier: Apache-2.0
// The kinds of operations that make up layers (layer_operations.h is the entry point), with their
// cost on one device for its part of the tensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepscope/cost/layer/counting_conventions.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/layer/tensor_layouts.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

[[nodiscard]] constexpr double number(std::int64_t n) { return static_cast<double>(n); }

// A device's part of a layer. Rows are tokens. The stream is the data that residuals carry between
// layers.
struct DeviceShare {
  const Transformer& model;
  const Plan& plan;
  const Counting& counting;
  DeviceGrid grid;
  ActivationSplit split;
  std::int64_t tokens;        // of all tp devices together: T
  std::int64_t work_rows;     // between linear layers
  std::int64_t stream_rows;   // of the stream
  std::int64_t stream_parts;  // of its features
  double stream_columns;
  std::int64_t heads;     // of the layer, after tp
  std::int64_t kv_heads;  // after tp; at least one
  double element;         // bytes of an activation
  bool trained = true;    // the weights have gradients (TrainedParts)

  [[nodiscard]] double stream() const { return static_cast<double>(stream_rows) * stream_columns; }
  // Elements on this device of a hidden layer of `width` (of the whole model).
  [[nodiscard]] double hidden(std::int64_t width) const {
    return static_cast<double>(work_rows) * static_cast<double>(width) /
           static_cast<double>(split.features);
  }
  // The parts of the stream's rows under 1d; 1: not divided.
  [[nodiscard]] std::int64_t parts() const { return sequence_parts(plan); }
  [[nodiscard]] bool sequence_parallel() const { return parts() > 1; }
};
[[nodiscard]] inline bool every_read(const DeviceShare& s) {
  return s.counting.backward_traffic == BackwardTraffic::every_read;
}

// Each elementwise operation is a kernel of its own.
[[nodiscard]] inline bool eager(const DeviceShare& s) {
  return !s.plan.kernels.fused_pointwise && !s.plan.kernels.compiled;
}

[[nodiscard]] DeviceShare device_share(const Transformer& model, const Plan& plan,
                                       const Counting& counting);

// The adapters of a layer (TrainedParts), each behind its linear layer. REQUIRES: operations of a
// layer of this kind, made with `trained` false.
void add_adapters(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to);
// Forward only: no backward, and nothing is kept for it.
void leave_backward_out(std::vector<Operation>& operations);
// What becomes of operations that were made with `trained` false.
void finish_frozen(const DeviceShare& share, const LayerKind& kind, LayerTraining training,
                   std::vector<Operation>& operations);

struct LinearSpec {
  std::string_view name;
  LinearShape shape;  // over all tp devices
  LinearPlace place = LinearPlace::first;
  bool replicated = false;  // 1d: each device multiplies its rows of the stream with the whole W
  bool bias = false;
  std::int64_t groups = 1;         // weight matrices on this device among which rows are divided
                                   // (experts)
  std::int64_t also_gathered = 0;  // additional columns that the gather brings along
  bool keeps_input = true;         // false: another operation keeps the same tensor
  bool always_16_bit = false;      // in any format of the plan
  bool input_read_again = false;   // another operation's backward reads the input in 16 bits
  bool keeps_gathered = false;     // keeps the whole input under any convention
  bool gathers_input = true;       // false: gathered for another operation
  bool reduces_output = true;      // false: summed together with a later operation's
  bool reduces_gradient = true;    // false: summed together with an earlier operation's
  bool input_gradient = true;      // false: the input is data
};
[[nodiscard]] Operation linear(const DeviceShare& share, const LinearSpec& spec);

// A norm over `rows` of `width` elements of the whole model. A row is divided into `parts`.
struct NormSpec {
  std::string_view name;
  Norm norm = Norm::layer_norm;
  double rows = 0;
  double width = 0;
  double parts = 1;
  double parameters = 0;
  bool gathered = false;  // a sequence-parallel linear layer gathers its output
};
[[nodiscard]] Operation norm(const DeviceShare& share, const NormSpec& spec);
// A norm over the stream (over each of `streams`), with gain and shift as in the model.
[[nodiscard]] Operation stream_norm(const DeviceShare& share, std::string_view name, bool gathered,
                                    std::int64_t streams = 1);

// y = f(x, second operands) of `elements`, with the number of reads and writes of each tensor.
struct PointwiseSpec {
  std::string_view name;
  VectorCount count;
  double elements = 0;
  double reads = 1;
  double second_reads = 0;
  double writes = 1;
  double gradient_reads = 1;
  double gradient_writes = 1;
  double kept = 0;        // elements kept, and read again backward
  double mask_bytes = 0;  // kept, written forward and read backward
};
[[nodiscard]] Operation pointwise(const DeviceShare& share, const PointwiseSpec& spec);
[[nodiscard]] Operation dropout(const DeviceShare& share, std::string_view name, double elements);
// The activation between the linear layers of a feed-forward part, of `elements` outputs. weighted:
// each row is scaled by its token's weight for this expert.
[[nodiscard]] Operation activation(const DeviceShare& share, std::string_view name, double elements,
                                   bool weighted);
// Before a part of a layer, if the model has hyper-connections: the streams' weights and their sum,
// which is the part's input.
void open_part(const DeviceShare& share, std::vector<Operation>& to);
// After a part, instead of the addition to the stream: the streams are mixed, and the part's output
// is added to each.
[[nodiscard]] Operation merge_streams(const DeviceShare& share);
// With hyper-connections: copies of the embedding, and the sum behind the last layer.
void expand_streams(const DeviceShare& share, std::vector<Operation>& to);
void end_streams(const DeviceShare& share, std::vector<Operation>& to);

// Compressed keys: `columns` of keys and `columns` of gates are projected, and the keys of `ratio`
// tokens become one of `width`.
struct CompressorSpec {
  std::string_view projection;  // names of the operations
  std::string_view name;
  std::int64_t width = 0;
  std::int64_t columns = 0;
  std::int64_t ratio = 1;
  std::int64_t also = 0;  // further columns of the projection
};
void add_compressor(const DeviceShare& share, const CompressorSpec& spec,
                    std::vector<Operation>& to);
// Queries, the shared key, and compressed keys. REQUIRES: a model with compressed attention.
void add_compressed_projections(const DeviceShare& share, const LayerKind& kind,
                                std::vector<Operation>& to);
// The outputs of each group of heads through a matrix of its own, to output_rank features.
[[nodiscard]] Operation group_projection(const DeviceShare& share);

// The end of a part: dropout if the model has it, and the addition to the stream.
void add_residual(const DeviceShare& share, std::string_view dropout_name,
                  std::string_view residual_name, bool gathered, std::vector<Operation>& to);

// The gather of the stream's parts, if the convention assigns it to their writer.
void gather_at_writer(const DeviceShare& share, Pass& pass);

// Bytes of means, variances and similar data, if the convention counts them.
[[nodiscard]] double statistics(const DeviceShare& share, double bytes);

// The parts of layer_operations.
void add_attention(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to);
// Linear attention or Mamba-2.
void add_state_mixer(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to);
void add_kind(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to);
void add_feed_forward(const DeviceShare& share, std::vector<Operation>& to);
void add_experts(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to);
// True if the outputs of attention and feed-forward are summed before one reduction over tp.
[[nodiscard]] bool merges_branches(const Transformer& model);
// True if both branches read the output of one norm.
[[nodiscard]] bool shares_norm(const Transformer& model);

}  // namespace stepscope
