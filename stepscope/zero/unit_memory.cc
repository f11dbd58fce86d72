// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/unit_memory.h"

#include <utility>

namespace stepscope::zero {
namespace {

UnitMemory lay_out(const Plan& plan, const RankArenas& memory, const UnitPlace& place) {
  const auto size = static_cast<std::int64_t>(element_bytes(plan.request.type));
  const std::int64_t whole = place.layout.elements * size;
  const std::int64_t held = place.held.shard_size();
  const Arena& parameters = memory[ArenaClass::parameters];
  UnitMemory unit;
  if (plan.request.stage == 3) {
    unit.block = parameters.part<std::byte>(place.parameters_at, place.layout.stride * size);
    unit.held = unit.block.first(static_cast<std::size_t>(held * size));
  } else {
    unit.whole = parameters.part<std::byte>(place.parameters_at, whole);
    unit.held = unit.whole.subspan(static_cast<std::size_t>(place.held.param_start * size),
                                   static_cast<std::size_t>(held * size));
  }
  if (place.local_at >= 0) {
    unit.local = memory[place.local_class].part<std::byte>(place.local_at, whole);
  }
  unit.reduced = memory[place.reduced_class].part<std::byte>(place.reduced_at, held * size);
  const Arena& moments = memory[ArenaClass::moments];
  const auto half = static_cast<std::int64_t>(moments.bytes().size() / 2);
  unit.m = moments.part<float>(place.states_at, held);
  unit.v = moments.part<float>(half + place.states_at, held);
  unit.master =
      plan.request.type == ElementType::f32
          ? std::span(reinterpret_cast<float*>(unit.held.data()), static_cast<std::size_t>(held))
          : memory[ArenaClass::master].part<float>(place.states_at, held);
  return unit;
}

}  // namespace

Result<RankArenas> RankArenas::map(const Plan& plan) {
  RankArenas memory;
  for (std::size_t c = 0; c < arena_class_count; ++c) {
    auto arena = Arena::map(plan.memory[c].arena(), arena_class_names[c]);
    if (!arena) return arena.error();
    memory.arenas[c] = *std::move(arena);
  }
  for (const UnitPlace& place : plan.places) memory.units.push_back(lay_out(plan, memory, place));
  return memory;
}

void round_parameters(const Plan& plan, const UnitMemory& unit) {
  if (plan.request.type == ElementType::f32) return;
  auto* const held = reinterpret_cast<Bf16*>(unit.held.data());
  for (std::size_t i = 0; i < unit.master.size(); ++i) held[i] = to_bf16(unit.master[i]);
}

}  // namespace stepscope::zero
