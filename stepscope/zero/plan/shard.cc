// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/plan/shard.h"

#include <algorithm>

#include "stepscope/base/result.h"

namespace stepscope::zero {

OptimizerShard OptimizerShard::for_rank(std::int64_t rank, std::int64_t world_size,
                                        std::int64_t total_params) {
  check(world_size >= 1, "a group has a rank or more");
  check(rank >= 0 && rank < world_size, "a rank is below its world size");
  check(total_params >= 0, "a number of parameters is not negative");
  const std::int64_t share = total_params / world_size;
  const std::int64_t longer = total_params % world_size;
  const std::int64_t start = rank * share + std::min(rank, longer);
  const std::int64_t end = start + share + (rank < longer ? 1 : 0);
  return {.rank = rank,
          .world_size = world_size,
          .param_start = start,
          .param_end = end,
          .total_params = total_params};
}

double OptimizerShard::memory_savings() const {
  if (total_params == 0) return 0;
  return 1.0 - static_cast<double>(shard_size()) / static_cast<double>(total_params);
}

std::int64_t shard_owner(std::int64_t param, std::int64_t world_size, std::int64_t total_params) {
  check(world_size >= 1, "a group has a rank or more");
  check(param >= 0 && param < total_params, "a parameter is below their number");
  const std::int64_t share = total_params / world_size;
  const std::int64_t longer = total_params % world_size;
  const std::int64_t in_longer = longer * (share + 1);
  if (param < in_longer) return param / (share + 1);
  return longer + (param - in_longer) / share;
}

std::int64_t ShardLayout::position(std::int64_t param) const {
  const std::int64_t owner = shard_owner(param, world_size, elements);
  return owner * stride + (param - shard(owner).param_start);
}

ShardLayout shard_layout(std::int64_t world_size, std::int64_t elements) {
  constexpr std::int64_t block = 16;
  check(world_size >= 1, "a group has a rank or more");
  check(elements >= 0, "a number of parameters is not negative");
  const std::int64_t longest = (elements + world_size - 1) / world_size;
  return {.world_size = world_size,
          .elements = elements,
          .stride = (longest + block - 1) / block * block};
}

}  // namespace stepscope::zero
