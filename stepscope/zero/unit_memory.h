// SPDX-License-Identifier: Apache-2.0
// The memory of a rank, laid out by its plan: an arena a class, and each unit's parts of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/zero/arena.h"
#include "stepscope/zero/plan.h"

namespace stepscope::zero {

// Spans of one unit, in the engine's element type where they are bytes. Empty where the stage has
// no such thing.
struct UnitMemory {
  std::span<std::byte> whole;    // parameters of the whole unit (stages 0 to 2)
  std::span<std::byte> block;    // stage 3: this rank's block, padding included
  std::span<std::byte> held;     // parameters whose states this rank holds
  std::span<std::byte> local;    // whole gradient of this rank; empty: in the pool
  std::span<std::byte> reduced;  // reduced gradient of `held`
  std::span<float> master;       // of `held`; f32: the same memory as `held`
  std::span<float> m;
  std::span<float> v;
};

struct RankArenas {
  std::array<Arena, arena_class_count> arenas;
  std::vector<UnitMemory> units;

  // An error where the system has no room.
  [[nodiscard]] static Result<RankArenas> map(const Plan& plan);
  [[nodiscard]] const Arena& operator[](ArenaClass c) const {
    return arenas[static_cast<std::size_t>(c)];
  }
};

// Parameters rounded from master weights; nothing to do in f32.
void round_parameters(const Plan& plan, const UnitMemory& unit);

}  // namespace stepscope::zero
