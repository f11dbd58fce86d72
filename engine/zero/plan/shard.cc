// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/plan/shard.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace stepscope::zero {
namespace {

Error refused(std::string what) { return {.what = std::move(what), .code = ErrorCode::refused}; }

// What is wrong with a group and its parameters, if anything is.
std::optional<Error> wrong_group(std::int64_t world_size, std::int64_t total_params) {
  if (world_size < 1)
    return refused("a world size of " + std::to_string(world_size) +
                   ": a group has a rank or more");
  if (total_params < 0)
    return refused(std::to_string(total_params) +
                   " parameters: a number of parameters is not negative");
  return std::nullopt;
}

OptimizerShard shard_of(std::int64_t rank, std::int64_t world_size, std::int64_t total_params) {
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

std::int64_t owner_of(std::int64_t param, std::int64_t world_size, std::int64_t total_params) {
  const std::int64_t share = total_params / world_size;
  const std::int64_t longer = total_params % world_size;
  const std::int64_t in_longer = longer * (share + 1);
  if (param < in_longer) return param / (share + 1);
  return longer + (param - in_longer) / share;
}

}  // namespace

Result<OptimizerShard> OptimizerShard::for_rank(std::int64_t rank, std::int64_t world_size,
                                                std::int64_t total_params) {
  if (auto wrong = wrong_group(world_size, total_params)) return *std::move(wrong);
  if (rank < 0 || rank >= world_size)
    return refused("rank " + std::to_string(rank) + " of " + std::to_string(world_size) +
                   ": ranks are 0 to " + std::to_string(world_size - 1));
  return shard_of(rank, world_size, total_params);
}

double OptimizerShard::memory_savings() const {
  if (total_params == 0) return 0;
  return 1.0 - static_cast<double>(shard_size()) / static_cast<double>(total_params);
}

Result<std::int64_t> shard_owner(std::int64_t param, std::int64_t world_size,
                                 std::int64_t total_params) {
  if (auto wrong = wrong_group(world_size, total_params)) return *std::move(wrong);
  if (param < 0 || param >= total_params)
    return refused("parameter " + std::to_string(param) + " of " + std::to_string(total_params) +
                   ": parameters count from 0");
  return owner_of(param, world_size, total_params);
}

OptimizerShard ShardLayout::shard(std::int64_t rank) const {
  check(rank >= 0 && rank < world_size, "a rank is below its world size");
  return shard_of(rank, world_size, elements);
}

std::int64_t ShardLayout::position(std::int64_t param) const {
  check(param >= 0 && param < elements, "a parameter is below their number");
  const std::int64_t owner = owner_of(param, world_size, elements);
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
