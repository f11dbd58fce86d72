// SPDX-License-Identifier: Apache-2.0
// What a row of published training says in words, made into numbers: which machine and network,
// and what a framework does where the row is silent (its documented defaults).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope::bench {

// What a framework does unless a row says otherwise.
struct FrameworkHabits {
  std::string_view word;          // in the framework's name, lower case; the first that fits counts
  bool torch_buffers = false;     // PyTorch's fully_shard, DTensor and pipelining
  bool memory_in_gib = false;     // its log, and tables made of it, print GiB (2^30 bytes)
  bool flash = true;              // attention that keeps no scores
  bool vendor_attention = false;  // cuDNN's instead of FlashAttention
  double dropout = 0;
  bool fused_pointwise = true;
  bool fused_loss = false;
  bool fused_gradient_sum = false;
  bool sequence_parallel = false;  // with tensor parallelism
  bool overlap_tensor = false;
  bool overlap_data = true;
  int zero = 0;
  int gradient_bytes = 2;         // on the network, at 16 bits
  int accumulated_bytes = 2;      // at 16 bits
  std::int64_t bucket_bytes = 0;  // 0: the plan's usual
  bool whole_in_pipeline =
      false;  // FSDP keeps parameters and gradients whole between micro-batches
  bool interleaves =
      false;  // pipelines have as many virtual stages as is fastest, where none are given
  std::optional<std::int64_t> micro_batch_default{};  // in a pipeline
};
// Never fails: a framework that is not known is taken for one of today's.
[[nodiscard]] const FrameworkHabits& framework_habits(std::string_view framework);

[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] bool has(std::string_view text, std::string_view word);  // text in lower case

// Name of the catalogue's machine for a row's GPU and interconnect, or empty.
[[nodiscard]] std::string_view machine_name(std::string_view gpu, std::string_view interconnect);

// One device's share of the network between nodes as the row states it, bytes a second.
[[nodiscard]] std::optional<double> stated_network(std::string_view interconnect,
                                                   double devices_per_node);

[[nodiscard]] std::optional<Dtype> stated_format(std::string_view precision);

// Ranks that share the states ("ZeRO-1 over groups of 8"), and the stage, where the row says so.
struct Sharding {
  std::optional<int> zero;
  std::int64_t group = 0;
};
[[nodiscard]] Sharding stated_sharding(std::string_view zero_or_fsdp,
                                       std::int64_t devices_per_node);

}  // namespace stepscope::bench
