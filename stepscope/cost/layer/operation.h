// SPDX-License-Identifier: Apache-2.0
// One operation of a transformer layer on one device for one micro-batch: its arithmetic, traffic,
// kept bytes and communication, forward and backward. Counts are independent of speed;
// compute_time.h and collective_cost.h turn them into seconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// attention: the two products of scores and values (including the softmax if fused). scan: what
// takes attention's place where a state is carried from token to token.
enum class OperationClass : std::uint8_t {
  matmul,
  attention,
  softmax,
  norm,
  pointwise,
  embedding,
  loss,
  scan
};
inline constexpr std::size_t operation_class_count = 8;
inline constexpr std::array<std::string_view, operation_class_count> operation_class_names = {
    "matmul", "attention", "softmax", "norm", "pointwise", "embedding", "loss", "scan"};
static_assert(operation_class_names[static_cast<std::size_t>(OperationClass::scan)] == "scan");

// The devices in a communication. Row, column and depth are of the grid of the 2d, 2.5d and 3d
// layouts (tensor_layouts.h). If the sequence is cut into another number of parts than tp:
// sequence, the devices with the parts; sequence_copies, the tp devices with the same part.
enum class ParallelDim : std::uint8_t {
  tensor,
  sequence,
  sequence_copies,
  tensor_row,
  tensor_column,
  tensor_depth,
  context,
  expert,
  pipeline,
  data,
  shard
};
inline constexpr std::size_t parallel_dim_count = 11;
inline constexpr std::array<std::string_view, parallel_dim_count> parallel_dim_names = {
    "tp", "sp", "sp_copies", "tp_row", "tp_column", "tp_depth", "cp", "ep", "pp", "dp", "shard"};
static_assert(parallel_dim_names[static_cast<std::size_t>(ParallelDim::shard)] == "shard");

// `batch` independent products [m, k] x [k, n].
struct MatmulShape {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

// Copies of a token that are sent once to each part of the experts that has chosen ones.
struct ForwardedCopies {
  const Experts* experts = nullptr;  // null: the communication is no such dispatch
  double one_copy = 0;               // bytes of one copy of each of this device's tokens
};

// `count` calls of a collective on `bytes` each. `bytes` is the total buffer: everything received
// for an all-gather, everything sent for reduce-scatter and all-to-all, including the own part.
struct Communication {
  CollectiveKind kind{};
  ParallelDim dim = ParallelDim::tensor;
  double bytes = 0;
  std::int64_t count = 1;
  // True if it can run during the arithmetic of this operation when the plan overlaps it (a matmul
  // split together with its communication, a ring that passes keys on while it computes).
  bool can_overlap = false;
  ForwardedCopies forwarded{};
};

// One direction. Bytes are reads and writes of device memory.
struct Pass {
  Flops matrix{};                      // on the matrix units
  Flops vector{};                      // on the vector units
  double input_bytes = 0;              // forward: activations read; backward: gradients read
  double weight_bytes = 0;             // weights read; backward: also their gradients written
  double output_bytes = 0;             // forward: activations written; backward: gradients written
  double other_bytes = 0;              // second operands, masks, statistics; backward: all kept
                                       // activations that are read again
  double apart_bytes = 0;              // of the input's: read by a kernel in addition to the
                                       // products
  double strided_bytes = 0;            // of all: in kernels of their own that read with strides
  double mixed_bytes = 0;              // of all: in kernels that read and write different formats
  bool input_cast = false;             // the input comes in the format of the products
  std::vector<MatmulShape> matmuls{};  // the products in `matrix`, before a causal mask halves it
  std::int64_t kernels = 1;            // among which the batch of each product is divided
  std::vector<Communication> communications{};

  [[nodiscard]] double bytes() const {
    return input_bytes + weight_bytes + output_bytes + other_bytes;
  }
  [[nodiscard]] Flops flops() const { return matrix + vector; }
};

// How tp cuts the weight of a linear layer (1d).
enum class WeightCut : std::uint8_t { whole, columns, rows };

struct Operation {
  std::string_view name;  // "qkv_proj", "fc1", ...: static text
  OperationClass kind{};
  bool trained = true;        // the parameters have gradients
  bool forward_only = false;  // `backward` is empty, and nothing is kept
  WeightCut cut = WeightCut::whole;
  Pass forward{};
  Pass backward{};
  double kept_bytes = 0;     // activations held from forward to backward
  double parameters = 0;     // elements of this device's share
  std::int64_t weights = 0;  // matrices among the parameters; the others are `vectors`
  std::int64_t vectors = 0;
  double vector_elements = 0;
  bool expert = false;  // these parameters are replicated only over dp * cp / ep ranks
  // True between the projections of attention: selective recomputation repeats it from its inputs,
  // which are `core_input_bytes` of `kept_bytes`.
  bool attention_core = false;
  double core_input_bytes = 0;
  bool again =
      false;  // backward repeats it under any recomputation (Plan::memory.recompute_modules)
  double again_bytes = 0;  // kept activations that this repetition brings back; not in kept_bytes
  // Outputs of the operation's matmuls with weights that backward reads again, if PyTorch runs them
  // as separate products (queries, keys, values; a gate and its input). The others are 0.
  std::array<double, 3> product_outputs{};
  std::int64_t products = 0;
};

}  // namespace stepscope
