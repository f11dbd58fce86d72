// SPDX-License-Identifier: Apache-2.0
// How a model is trained on a number of devices: every degree of parallelism, the batch, and which
// state is kept, recomputed, offloaded or overlapped. The degrees multiply to the devices: tp * cp
// * pp * dp (experts are divided over ep of the cp * dp ranks); a sequence degree that does not
// divide tp takes more devices (tensor_grid.h). Rank order, fastest first: tp, cp, dp, pp, as in
// Megatron.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/model/tower.h"
#include "stepscope/cost/model/trained_parts.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {

// The division of one matmul over tp devices (tensor_layouts.h has the derivations).
enum class TensorLayout : std::uint8_t { one_d, two_d, two_and_half_d, three_d };
inline constexpr std::array<std::string_view, 4> tensor_layout_names = {"1d", "2d", "2.5d", "3d"};
static_assert(tensor_layout_names[static_cast<std::size_t>(TensorLayout::three_d)] == "3d");

enum class ContextExchange : std::uint8_t { all_gather, ring, all_to_all };
inline constexpr std::array<std::string_view, 3> context_exchange_names = {"all_gather", "ring",
                                                                           "all_to_all"};
static_assert(context_exchange_names[static_cast<std::size_t>(ContextExchange::all_to_all)] ==
              "all_to_all");

enum class Schedule : std::uint8_t {
  gpipe,
  one_f_one_b,
  interleaved,
  zero_bubble_h1,
  zero_bubble_h2,
  dualpipe  // half of the micro-batches enter at each end; a device has two stages
};
inline constexpr std::array<std::string_view, 6> schedule_names = {"gpipe", "1f1b",  "interleaved",
                                                                   "zb-h1", "zb-h2", "dualpipe"};
static_assert(schedule_names[static_cast<std::size_t>(Schedule::dualpipe)] == "dualpipe");

// selective: only attention's core; operations: all except attention's core and every second
// matmul; every_k: the first of each k layers of a stage is kept whole.
enum class Recompute : std::uint8_t { none, selective, operations, full, every_k };
inline constexpr std::array<std::string_view, 5> recompute_names = {
    "none", "selective", "operations", "full", "every_k"};
static_assert(recompute_names[static_cast<std::size_t>(Recompute::every_k)] == "every_k");

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
inline constexpr std::array<std::string_view, 7> recompute_module_names = {
    "core_attention", "norms",     "expert_activation", "experts",
    "feed_forward",   "latent_up", "hyper_connections"};
static_assert(
    recompute_module_names[static_cast<std::size_t>(RecomputeModule::hyper_connections)] ==
    "hyper_connections");
struct RecomputeModules {
  std::uint8_t bits = 0;

  [[nodiscard]] constexpr bool has(RecomputeModule m) const {
    return (bits >> static_cast<unsigned>(m) & 1U) != 0;
  }
  constexpr void add(RecomputeModule m) {
    bits = static_cast<std::uint8_t>(bits | 1U << static_cast<unsigned>(m));
  }
  bool operator==(const RecomputeModules&) const = default;
};

// What a CUDA graph holds: the layers' kernels except those of experts, whose sizes the host must
// know; or the whole step.
enum class CudaGraphs : std::uint8_t { none, layers, step };
inline constexpr std::array<std::string_view, 3> cuda_graph_names = {"none", "layers", "step"};
static_assert(cuda_graph_names[static_cast<std::size_t>(CudaGraphs::step)] == "step");

// How tokens reach the experts of other ranks. all_to_all: one copy for each chosen expert.
// forwarded: one copy for each rank with chosen experts, and one across the network for each domain
// with chosen experts, forwarded within it (DeepEP, HybridEP); the way back sums in the same
// places.
enum class ExpertDispatch : std::uint8_t { all_to_all, forwarded };
inline constexpr std::array<std::string_view, 2> expert_dispatch_names = {"all_to_all",
                                                                          "forwarded"};
static_assert(expert_dispatch_names[static_cast<std::size_t>(ExpertDispatch::forwarded)] ==
              "forwarded");

enum class Residence : std::uint8_t { device, host, nvme };
inline constexpr std::array<std::string_view, 3> residence_names = {"device", "host", "nvme"};
static_assert(residence_names[static_cast<std::size_t>(Residence::nvme)] == "nvme");

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
};

struct Plan {
  std::int64_t devices = 1;
  std::int64_t tp = 1;
  TensorLayout tensor_layout = TensorLayout::one_d;
  // 2d, 2.5d, 3d: the sides of the grid, tp = tp_rows * tp_columns * tp_depth (tensor_grid.h). 0:
  // what the other side leaves, or both equal.
  std::int64_t tp_rows = 0;
  std::int64_t tp_columns = 0;
  std::int64_t tp_depth = 1;       // 2.5d: copies of the grid; 3d: its third side
  bool sequence_parallel = false;  // 1d: norms, dropout and residuals are divided over the sequence
  std::int64_t sequence_degree = 0;  // the number of parts of that division; 0: tp
  std::int64_t cp = 1;
  ContextExchange context_exchange = ContextExchange::all_gather;
  std::int64_t ep = 1;
  // Tensor-parallel devices of an expert: tp, or 1 (each expert is whole, and its ranks are taken
  // from the tp * cp * dp ranks, those of tp first). 0: tp.
  std::int64_t expert_tp = 0;
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;
  int expert_load = 100;         // tokens of the fullest device's experts, in percent of the mean
  bool narrow_dispatch = false;  // tokens and gradients go to experts in fp8
  int expert_sms = 0;            // with overlap_expert: units that work on all-to-alls alone
  std::int64_t pp = 1;
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t virtual_stages = 1;  // per device (interleaved)
  // Layers of each virtual stage in model order. Empty: the same for all; they must divide evenly.
  std::vector<std::int64_t> stage_layers{};
  std::int64_t dp = 1;
  int zero = 0;  // stage 0, 1, 2, 3
  // Hybrid sharding: states are sharded over this many of the dp * cp ranks that hold the same
  // weights, and replicated beyond. 0: sharded over all.
  std::int64_t shard_group = 0;
  std::int64_t sequence = 2048;
  std::int64_t images = 0;               // of a sequence, if the model has a tower
  std::int64_t image_patches = 0;        // of one image, before the tower merges them
  std::int64_t micro_batch = 1;          // sequences per pass on one dp rank
  std::int64_t global_batch = 1;         // sequences per optimizer step
  bool reduce_each_micro_batch = false;  // gradients are reduced after every pass, not each step
  Recompute recompute = Recompute::none;
  std::int64_t recompute_every = 1;      // every_k: k
  RecomputeModules recompute_modules{};  // besides none or selective
  bool vendor_attention = false;  // fused attention is the vendor's (cuDNN), not FlashAttention
  bool narrow_attention = false;  // attention in fp8, if products of weights are below 16 bits
  bool fp8_rowwise = false;       // a scale for each row of fp8 operands, not for each tensor
  bool narrow_head = false;       // the head's product in the format of the layers', not in 16 bits
  // SwiGLU's inputs are kept for backward in fp8 (DeepSeek-AI 2024 §3.3.3; Megatron-Core's
  // activation_func_fp8_input_store).
  bool narrow_swiglu = false;
  // Attention's output is kept once, in 12 bits (E5M6) with a scale for each 128 elements, for its
  // own backward and for the projection's (DeepSeek-AI 2024 §3.3.3).
  bool narrow_attention_output = false;
  bool fused_attention = true;  // scores never reach memory (flash)
  bool compiled = false;        // layers are launched by a compiler's code, not singly in Python
  // The products of a device's experts are one kernel (a grouped matmul). Otherwise each expert's
  // is a kernel of its own (Transformer Engine's GroupedLinear with cuBLAS).
  bool grouped_experts = true;
  bool fused_experts = false;   // the experts' products apply activation and casts themselves
  bool fused_pointwise = true;  // adjacent elementwise operations share one pass over memory
  // The gradient of the scores replaces them (Transformer Engine, Liger). Otherwise exponentials in
  // fp32 are kept with them, and the gradient is a tensor of its own.
  bool loss_in_place = false;
  bool fused_loss = true;  // cross-entropy in one pass each way, not one operation after the other
  // The product that makes a weight's gradient also adds it to the sum over micro-batches, if the
  // sum is kept whole (ZeRO 0 and 1).
  bool fused_gradient_sum = true;
  Precision precision{};
  Residence optimizer_at = Residence::device;
  Residence gradients_at = Residence::device;
  Residence parameters_at = Residence::device;
  bool overlap_gradient_reduce = true;   // with backward, by buckets
  bool overlap_parameter_gather = true;  // ZeRO-1/2: with the next forward; ZeRO-3: prefetch
  std::int64_t prefetch_distance = 1;    // ZeRO-3: layers gathered ahead
  // ZeRO-3: each weight is gathered and reduced by a call of its own, after the device has finished
  // all work, and piece by piece copied (DeepSpeed before 0.6; gather_singly below).
  bool gather_singly = false;
  Bytes bucket{25 * 1024 * 1024};
  // Weights, gradients and passed activations are stored as in PyTorch's fully_shard, DTensor and
  // pipelining (memory_footprint.h).
  bool torch_buffers = false;
  bool overlap_tensor = false;  // tensor communication is split and hidden under its matmul
  // Experts' all-to-alls run during the arithmetic of another micro-batch.
  bool overlap_expert = false;
  CudaGraphs cuda_graphs = CudaGraphs::none;
  TrainedParts trained{};                  // all weights, or adapters, or all but frozen parts
  std::int64_t vocabulary_multiple = 128;  // the embedding is padded to a multiple of this times tp
};

[[nodiscard]] constexpr Images images_of(const Plan& p) { return {p.images, p.image_patches}; }

// Micro-batches of one pipeline per step: global_batch / (dp * micro_batch).
[[nodiscard]] constexpr std::int64_t micro_batches(const Plan& p) {
  return p.global_batch / (p.dp * p.micro_batch);
}

// ZeRO-3 gathers weights one by one. Then nothing hides its calls.
[[nodiscard]] constexpr bool gathers_singly(const Plan& p) {
  return p.zero == 3 && p.gather_singly;
}
// Gathers of a micro-batch before backward's work on a unit. One by one, full recomputation gathers
// a weight for the repeated forward and, as it is released in between, again.
[[nodiscard]] constexpr std::int64_t backward_gathers(const Plan& p) {
  return gathers_singly(p) && p.recompute == Recompute::full ? 2 : 1;
}

// Experts are whole on each of their ranks although tp divides the rest of the layer.
[[nodiscard]] constexpr bool whole_experts(const Plan& p) { return p.expert_tp == 1 && p.tp > 1; }
// Ranks among which experts are divided or replicated, and that hold copies of one expert's
// weights.
[[nodiscard]] constexpr std::int64_t expert_ranks(const Plan& p) {
  return p.cp * p.dp * (whole_experts(p) ? p.tp : 1);
}
[[nodiscard]] constexpr std::int64_t expert_replicas(const Plan& p) {
  return expert_ranks(p) / p.ep;
}

// Layers of each of `stages`, as even as possible, with the fuller stages in the middle because the
// ends also have the embedding and the head. Both arguments are positive.
[[nodiscard]] std::vector<std::int64_t> even_stages(std::int64_t layers, std::int64_t stages);

// Success if the plan can run for this model. Errors name the numbers and values that would work.
// If there are fewer key-value heads than tp, they are replicated as in Megatron; tp must be a
// multiple of them. Safe for any numbers. `model` must come from a reader (check_model).
[[nodiscard]] Result<Done> check_plan(const Transformer& model, const Plan& plan);

}  // namespace stepscope
