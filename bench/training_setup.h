// SPDX-License-Identifier: Apache-2.0
// Turns the words of a published training row into numbers: machine and network, and the
// framework's documented defaults for everything that the row does not state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope::bench {

// The defaults of a framework, unless a row says otherwise.
struct FrameworkHabits {
  std::string_view word;          // in the framework's name, lower case; the first match counts
  bool torch_buffers = false;     // PyTorch's fully_shard, DTensor and pipelining
  bool memory_in_gib = false;     // its log and tables made from it print GiB (2^30 bytes)
  bool flash = true;              // attention that keeps no scores
  bool vendor_attention = false;  // cuDNN's instead of FlashAttention
  double dropout = 0;
  bool fused_pointwise = true;
  bool fused_loss = false;
  bool loss_in_place = false;
  bool fused_gradient_sum = false;
  bool sequence_parallel = false;  // with tensor parallelism
  bool overlap_tensor = false;
  bool overlap_data = true;
  int zero = 0;
  bool gather_singly = false;  // ZeRO-3 gathers weights one by one
  int gradient_bytes = 2;      // on the network, at 16 bits
  int accumulated_bytes = 2;   // at 16 bits
  // Models whose recipes hold AdamW's states in 16 bits, by words of their names.
  std::array<std::string_view, 2> half_moments{};
  bool narrow_parameters = false;         // under fp8 with one scale a tensor, weights are fp8 too
  Recompute recompute = Recompute::none;  // unless a row states another
  std::int64_t bucket_bytes = 0;          // 0: the plan's usual
  bool megatron_buckets = false;          // buckets grow with the data-parallel ranks
  bool whole_in_pipeline =
      false;                 // FSDP keeps parameters and gradients whole between micro-batches
  bool interleaves = false;  // without given virtual stages, pipelines use the fastest number
  std::optional<std::int64_t> micro_batch_default{};  // in a pipeline
  bool forwards_tokens = false;                       // DeepEP's or HybridEP's dispatch
  bool whole_experts = false;                         // experts are not divided over tp
  bool grouped_experts = true;     // one kernel multiplies all experts of a device
  bool batch_of_a_device = false;  // micro_batch is of a device, and nothing accumulates
  std::int64_t lora_rank = 16;     // of adapters, if a row has some and not their rank
  bool lora_on_qkv = false;        // adapters at queries, keys and values alone
  bool compiles_step = false;      // XLA: the host launches the step as one program
  // DeepSeek-V4 has the layer of multi-token prediction that its checkpoint has.
  bool predicts_as_checkpoint = false;
  std::optional<Dtype> format{};  // of products, unless a row states one
};
// Never fails: an unknown framework gets the defaults of today's frameworks.
[[nodiscard]] const FrameworkHabits& framework_habits(std::string_view framework);

[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] bool has(std::string_view text, std::string_view word);  // text in lower case

// Name of the catalogue's machine for a row's GPU and interconnect, or empty.
[[nodiscard]] std::string_view machine_name(std::string_view gpu, std::string_view interconnect);

// One device's share of the network between nodes as the row states it, in bytes per second.
[[nodiscard]] std::optional<double> stated_network(std::string_view interconnect,
                                                   double devices_per_node);

[[nodiscard]] std::optional<Dtype> stated_format(std::string_view precision);

// The ranks that share the states ("ZeRO-1 over groups of 8"), and the stage, if the row states
// them.
struct Sharding {
  std::optional<int> zero;
  std::int64_t group = 0;
};
[[nodiscard]] Sharding stated_sharding(std::string_view zero_or_fsdp,
                                       std::int64_t devices_per_node);

}  // namespace stepscope::bench
