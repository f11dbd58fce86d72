// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/plan/unit_memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/nn/network/initialize.h"

namespace stepscope::zero {
namespace {

template <class T>
T* elements(std::span<std::byte> bytes) {
  return reinterpret_cast<T*>(bytes.data());
}

UnitMemory lay_out(const Plan& plan, const RankArenas& memory, const UnitPlace& place) {
  const auto size = static_cast<std::int64_t>(element_bytes(plan.request.type));
  const std::int64_t whole = place.layout.elements * size;
  const std::int64_t held = place.held.shard_size();
  const Arena& parameters = memory[ArenaClass::parameters];
  UnitMemory unit;
  if (plan.request.offload.parameters) {
    // The data is in a file.
  } else if (plan.request.stage == 3) {
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
  if (!plan.request.offload.gradients) {
    unit.reduced = memory[place.reduced_class].part<std::byte>(place.reduced_at, held * size);
  }
  if (plan.request.type == ElementType::f32 && !plan.request.offload.parameters) {
    unit.master = {reinterpret_cast<float*>(unit.held.data()), static_cast<std::size_t>(held)};
  }
  if (plan.request.offload.optimizer) return unit;
  const Arena& moments = memory[ArenaClass::moments];
  const auto half = static_cast<std::int64_t>(moments.bytes().size() / 2);
  unit.m = moments.part<float>(place.states_at, held);
  unit.v = moments.part<float>(half + place.states_at, held);
  if (plan.request.type != ElementType::f32) {
    unit.master = memory[ArenaClass::master].part<float>(place.states_at, held);
  }
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

void draw_parameters(const nn::Unit& unit, std::size_t index, std::uint64_t seed, ElementType type,
                     std::int64_t first, std::span<std::byte> out) {
  const auto count = static_cast<std::int64_t>(out.size() / element_bytes(type));
  if (type == ElementType::f32) {
    nn::initialize(unit, index, seed, first,
                   std::span(elements<float>(out), static_cast<std::size_t>(count)));
    return;
  }
  constexpr std::int64_t chunk = 1024;
  std::array<float, chunk> values{};
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    const auto part =
        std::span(values).first(static_cast<std::size_t>(std::min(chunk, count - begin)));
    nn::initialize(unit, index, seed, first + begin, part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      elements<Bf16>(out)[static_cast<std::size_t>(begin) + i] = to_bf16(part[i]);
    }
  }
}

void round_parameters(std::span<const float> master, std::span<std::byte> parameters) {
  auto* const rounded = reinterpret_cast<Bf16*>(parameters.data());
  for (std::size_t i = 0; i < master.size(); ++i) rounded[i] = to_bf16(master[i]);
}

}  // namespace stepscope::zero
