// SPDX-License-Identifier: Apache-2.0
// The owners of the elements of a flat vector of parameters, and the elements' places in memory.
//
// Contract C-ZERO-001, for every N and every world size W: the shards cover [0, N), no two share an
// element, and each size is floor(N / W) or one more. Here the first N mod W ranks have one more:
//   q = N / W, r = N mod W, size(k) = q + (k < r), start(k) = k q + min(k, r).
//
// If W does not divide N, the contract contradicts the sentence "the last shard absorbs any
// remainder": that rule makes the last shard up to W - 1 larger than floor(N / W). The contract
// holds here. Another common rule, ceil(N / W) for each rank until nothing is left, violates it
// too: 9 elements on 4 ranks become 3, 3, 3, 0, and 0 is two below floor(9 / 4).
#pragma once

#include <cstdint>

#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// The optimizer's bytes for each parameter, without the parameter that the kernels read.
struct OptimizerBytes {
  std::int64_t states = 8;  // AdamW: m and v in f32
  std::int64_t master = 0;  // an f32 copy if parameters are narrower

  [[nodiscard]] constexpr std::int64_t per_parameter() const { return states + master; }
};
// AdamW on parameters of this type: 8, or 12 with master weights.
[[nodiscard]] constexpr OptimizerBytes adamw_bytes(ElementType parameters) {
  return {.states = 8, .master = parameters == ElementType::f32 ? 0 : 4};
}

// The contiguous range of parameters that one rank of a group updates. Only this rank holds their
// optimizer states.
struct OptimizerShard {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  std::int64_t param_start = 0;  // inclusive
  std::int64_t param_end = 0;    // exclusive
  std::int64_t total_params = 0;

  // An error (ErrorCode::refused) unless 0 <= rank < world_size and total_params >= 0.
  [[nodiscard]] static Result<OptimizerShard> for_rank(std::int64_t rank, std::int64_t world_size,
                                                       std::int64_t total_params);

  [[nodiscard]] constexpr std::int64_t shard_size() const { return param_end - param_start; }
  [[nodiscard]] constexpr bool owns_param(std::int64_t param) const {
    return param >= param_start && param < param_end;
  }
  // 1 - shard_memory_bytes / full_memory_bytes of this shard: 0.5 for two ranks and an even number
  // of parameters. 0 without parameters.
  [[nodiscard]] double memory_savings() const;
  [[nodiscard]] Bytes shard_memory_bytes(OptimizerBytes bytes = {}) const {
    return {shard_size() * bytes.per_parameter()};
  }
  [[nodiscard]] Bytes full_memory_bytes(OptimizerBytes bytes = {}) const {
    return {total_params * bytes.per_parameter()};
  }

  bool operator==(const OptimizerShard&) const = default;
};

// The rank whose shard holds `param`. An error unless 0 <= param < total_params and world_size
// >= 1. O(1).
[[nodiscard]] Result<std::int64_t> shard_owner(std::int64_t param, std::int64_t world_size,
                                               std::int64_t total_params);

// The layout of shards in messages: W blocks of equal length, a multiple of 16 elements (64 bytes
// of f32), so all ranks send and receive the same amount. Block k holds shard k, then zeros.
// Padding is never part of a norm, a checkpoint or an update. Memory and messages contain it.
struct ShardLayout {
  std::int64_t world_size = 1;
  std::int64_t elements = 0;  // N
  std::int64_t stride = 0;    // S = ceil(N / W) rounded up to 16

  // REQUIRES: 0 <= rank < world_size.
  [[nodiscard]] OptimizerShard shard(std::int64_t rank) const;
  [[nodiscard]] constexpr std::int64_t padded_elements() const { return world_size * stride; }
  [[nodiscard]] constexpr std::int64_t padding() const { return padded_elements() - elements; }
  // The position of a parameter among the blocks, and the reverse. Padding has no parameter.
  [[nodiscard]] std::int64_t position(std::int64_t param) const;
  // Whether the blocks have the same layout as the flat vector.
  [[nodiscard]] constexpr bool contiguous() const { return padding() == 0; }
};
[[nodiscard]] ShardLayout shard_layout(std::int64_t world_size, std::int64_t elements);

}  // namespace stepscope::zero
