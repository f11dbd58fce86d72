// SPDX-License-Identifier: Apache-2.0
// The memory of a rank, laid out by its plan: one arena per class, and each unit's parts of the
// arenas.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/zero/plan/arena.h"
#include "engine/zero/plan/step_plan.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// The spans of one unit. Spans of bytes hold the engine's element type. A span is empty if the
// stage has no such data, or if the data is in a file.
struct UnitMemory {
  std::span<std::byte> whole;    // parameters of the whole unit (stages 0 to 2)
  std::span<std::byte> block;    // stage 3: this rank's block, padding included
  std::span<std::byte> held;     // parameters whose states this rank holds
  std::span<std::byte> local;    // whole gradient of this rank; empty: in the pool
  std::span<std::byte> reduced;  // reduced gradient of `held`
  std::span<float> master;       // of `held`; f32: the same memory as `held`. Offloaded states (m,
                                 // v, and the master weights of bf16) are not in memory
  std::span<float> m;
  std::span<float> v;
};

struct RankArenas {
  std::array<Arena, arena_class_count> arenas;
  std::vector<UnitMemory> units;

  // Error: no memory.
  [[nodiscard]] static Result<RankArenas> map(const Plan& plan);
  [[nodiscard]] const Arena& operator[](ArenaClass c) const {
    return arenas[static_cast<std::size_t>(c)];
  }
};

// Writes the initial values of elements [first, …) of unit number `index`, in the element type.
void draw_parameters(const nn::Unit& unit, std::size_t index, std::uint64_t seed, ElementType type,
                     std::int64_t first, std::span<std::byte> out);
// Rounds each master weight to a bf16 parameter.
void round_parameters(std::span<const float> master, std::span<std::byte> parameters);

}  // namespace stepscope::zero
