// SPDX-License-Identifier: Apache-2.0
// For tests: a model of some units, and the state of its ranks as the contract of zero/plan/shard.h
// divides it.
#pragma once

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "engine/zero/checkpoint/checkpoint.h"
#include "engine/zero/plan/shard.h"

namespace stepscope::zero::test {

inline CheckpointModel model_of(const std::vector<std::int64_t>& sizes) {
  CheckpointModel model{.config = "{\"test\": 1}"};
  for (const std::int64_t n : sizes) {
    const std::string name = "block " + std::to_string(model.units.size());
    model.units.push_back({.name = name,
                           .elements = n,
                           .tensors = {{.name = name + ".weight", .shape = {n}, .offset = 0}}});
  }
  return model;
}

// The state of one rank.
struct RankState {
  std::vector<std::vector<float>> memory;
  std::vector<StateExtent> extents;

  void add(std::size_t unit, std::int64_t first, std::int64_t count) {
    const std::size_t at = memory.size();
    for (int part = 0; part < 3; ++part) memory.emplace_back(static_cast<std::size_t>(count));
    extents.push_back({.unit = unit,
                       .first = first,
                       .master = memory[at],
                       .m = memory[at + 1],
                       .v = memory[at + 2]});
  }
};

// The bits of element i of a unit: a pattern that no other element has, possibly a NaN.
inline float value_at(std::size_t unit, int part, std::int64_t i) {
  const std::uint64_t x =
      (static_cast<std::uint64_t>(i) * 3 + static_cast<std::uint64_t>(part)) * 8 + unit;
  return std::bit_cast<float>(static_cast<std::uint32_t>(x * 2654435761ULL + 12345));
}

inline RankState shard_of(const CheckpointModel& model, int rank, int world) {
  RankState state;
  for (std::size_t u = 0; u < model.units.size(); ++u) {
    const auto shard = shard_layout(world, model.units[u].elements).shard(rank);
    if (shard.shard_size() > 0) state.add(u, shard.param_start, shard.shard_size());
  }
  return state;
}

inline void fill(RankState& state) {
  for (const StateExtent& e : state.extents) {
    for (std::size_t i = 0; i < e.master.size(); ++i) {
      const std::int64_t at = e.first + static_cast<std::int64_t>(i);
      e.master[i] = value_at(e.unit, 0, at);
      e.m[i] = value_at(e.unit, 1, at);
      e.v[i] = value_at(e.unit, 2, at);
    }
  }
}

// The number of elements whose bits differ from those of fill().
inline std::size_t wrong(const RankState& state) {
  std::size_t n = 0;
  const auto differs = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
  };
  for (const StateExtent& e : state.extents) {
    for (std::size_t i = 0; i < e.master.size(); ++i) {
      const std::int64_t at = e.first + static_cast<std::int64_t>(i);
      n += differs(e.master[i], value_at(e.unit, 0, at)) ? 1U : 0U;
      n += differs(e.m[i], value_at(e.unit, 1, at)) ? 1U : 0U;
      n += differs(e.v[i], value_at(e.unit, 2, at)) ? 1U : 0U;
    }
  }
  return n;
}

inline CheckpointInfo info_of(const CheckpointModel& model, std::int64_t step, int world,
                              int stage = 3) {
  return {.model = model,
          .cursor = {.seed = 0xfedcba9876543210ULL,
                     .step = step,
                     .updates = step - 1,
                     .data_position = step * 8,
                     .tokens = step * 8 * 128},
          .parameters = ElementType::bf16,
          .stage = stage,
          .world_size = world};
}

// Writes and commits a checkpoint of fill() by `world` ranks.
inline Result<std::string> save(const std::string& dir, const CheckpointInfo& info) {
  for (int rank = 0; rank < info.world_size; ++rank) {
    RankState state = shard_of(info.model, rank, info.world_size);
    fill(state);
    if (auto written = write_checkpoint_part(dir, info, rank, state.extents); !written)
      return written.error();
  }
  return commit_checkpoint(dir, info);
}

}  // namespace stepscope::zero::test
