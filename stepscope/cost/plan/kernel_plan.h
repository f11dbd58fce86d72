// SPDX-License-Identifier: Apache-2.0
// Which kernels run a plan, how they are launched, and which communication they hide.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// What a CUDA graph holds: the layers' kernels except those of experts, whose sizes the host must
// know; or the whole step.
enum class CudaGraphs : std::uint8_t { none, layers, step };
inline constexpr auto cuda_graph_names = enum_names<CudaGraphs::step>;

struct Kernels {
  bool fused_attention = true;    // scores never reach memory (flash)
  bool vendor_attention = false;  // fused attention is the vendor's (cuDNN), not FlashAttention
  bool narrow_attention = false;  // attention in fp8, if products of weights are below 16 bits
  bool fp8_rowwise = false;       // a scale for each row of fp8 operands, not for each tensor
  bool narrow_head = false;       // the head's product in the format of the layers', not in 16 bits
  // The products of a device's experts are one kernel (a grouped matmul). Otherwise each expert's
  // is a kernel of its own (Transformer Engine's GroupedLinear with cuBLAS).
  bool grouped_experts = true;
  bool fused_experts = false;   // the experts' products apply activation and casts themselves
  bool fused_pointwise = true;  // adjacent elementwise operations share one pass over memory
  bool compiled = false;        // layers are launched by a compiler's code, not singly in Python
  CudaGraphs cuda_graphs = CudaGraphs::none;
  bool fused_loss = true;  // cross-entropy in one pass each way, not one operation after the other
  // The gradient of the scores replaces them (Transformer Engine, Liger). Otherwise exponentials in
  // fp32 are kept with them, and the gradient is a tensor of its own.
  bool loss_in_place = false;
  // The product that makes a weight's gradient also adds it to the sum over micro-batches, if the
  // sum is kept whole (ZeRO 0 and 1).
  bool fused_gradient_sum = true;
  std::int64_t vocabulary_multiple = 128;  // the embedding is padded to a multiple of this times tp

  bool operator==(const Kernels&) const = default;
};

struct Overlaps {
  bool gradient_reduce = true;   // with backward, by buckets
  bool parameter_gather = true;  // ZeRO-1/2: with the next forward; ZeRO-3: prefetch
  std::int64_t prefetch = 1;     // ZeRO-3: layers gathered ahead
  // ZeRO-3: each weight is gathered and reduced by a call of its own, after the device has finished
  // all work, and piece by piece copied (DeepSpeed before 0.6; gathers_singly in training_plan.h).
  bool gather_singly = false;
  Bytes bucket{25 * 1024 * 1024};
  bool tensor = false;   // tensor communication is split and hidden under its matmul
  bool experts = false;  // all-to-alls run during the arithmetic of another micro-batch
};

}  // namespace stepscope
