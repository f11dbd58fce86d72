// SPDX-License-Identifier: Apache-2.0
// What a plan keeps, in how many bytes and where, and what it computes again.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepscope/base/enum_names.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/model/trained_parts.h"

namespace stepscope {

// selective: only attention's core; operations: all except attention's core and every second
// matmul; every_k: the first of each k layers of a stage is kept whole.
enum class Recompute : std::uint8_t { none, selective, operations, full, every_k };
inline constexpr auto recompute_names = enum_names<Recompute::every_k>;

// Parts of a layer that backward computes again, whatever `Recompute` says (Megatron-LM's
// --recompute-modules). core_attention: as selective; norms; expert_activation: the activation
// between an expert's products; experts: the whole mixture, with its all-to-alls; feed_forward: the
// dense one; latent_up: latent (compressed) attention's projections from its latents;
// hyper_connections: the sums of the streams and their mixing, so that the streams themselves are
// not kept.
enum class RecomputeModule : std::uint8_t {
  core_attention,
  norms,
  expert_activation,
  experts,
  feed_forward,
  latent_up,
  hyper_connections
};
inline constexpr auto recompute_module_names = enum_names<RecomputeModule::hyper_connections>;
using RecomputeModules = NameSet<RecomputeModule>;

enum class Residence : std::uint8_t { device, host, nvme };
inline constexpr auto residence_names = enum_names<Residence::nvme>;

struct MemoryPlan {
  Recompute recompute = Recompute::none;
  std::int64_t recompute_every = 1;      // every_k: k
  RecomputeModules recompute_modules{};  // besides none or selective
  // SwiGLU's inputs are kept for backward in fp8 (DeepSeek-AI 2024 §3.3.3; Megatron-Core's
  // activation_func_fp8_input_store).
  bool narrow_swiglu = false;
  // Attention's output is kept once, in 12 bits (E5M6) with a scale for each 128 elements, for its
  // own backward and for the projection's (DeepSeek-AI 2024 §3.3.3).
  bool narrow_attention_output = false;
  Residence optimizer_at = Residence::device;
  Residence gradients_at = Residence::device;
  Residence parameters_at = Residence::device;
  // Weights, gradients and passed activations are stored as in PyTorch's fully_shard, DTensor and
  // pipelining (memory_footprint.h).
  bool torch_buffers = false;
};

// Bytes per element of everything that is kept or sent.
struct Precision {
  Dtype matmul = Dtype::bf16;
  int parameter_bytes = 2;
  int gradient_bytes = 2;  // as backward produces it and the network sends it
  // Type of the sum over micro-batches. If equal to gradient_bytes, it is the same buffer.
  int accumulated_gradient_bytes = 4;
  int master_bytes = 4;           // 0: parameters are their own master
  int optimizer_state_bytes = 8;  // all states of one parameter (AdamW: two fp32)
  int activation_bytes = 2;

  bool operator==(const Precision&) const = default;
};

}  // namespace stepscope
