// SPDX-License-Identifier: Apache-2.0
// A step's memory by class for the recorder, and its recomputed work.
#include <utility>

#include "engine/zero/engine/engine.h"

namespace stepscope::zero {

void Engine::record_memory() {
  using Recorded = stepscope::MemoryClass;
  constexpr std::array<std::pair<ArenaClass, Recorded>, arena_class_count> classes = {
      {{ArenaClass::parameters, Recorded::parameters},
       {ArenaClass::gradients, Recorded::gradients},
       {ArenaClass::master, Recorded::optimizer_state},
       {ArenaClass::moments, Recorded::optimizer_state},
       {ArenaClass::gathered_units, Recorded::unit_pool},
       {ArenaClass::unit_gradients, Recorded::unit_pool},
       {ArenaClass::accumulated_gradients, Recorded::gradients},
       {ArenaClass::buckets, Recorded::buckets},
       {ArenaClass::offload_buffers, Recorded::staging},
       {ArenaClass::activations, Recorded::activations},
       {ArenaClass::scratch, Recorded::scratch}}};
  std::array<Bytes, memory_class_count> sums{};
  for (const auto& [arena, recorded] : classes) {
    sums[slot(recorded)] += plan_.memory[static_cast<std::size_t>(arena)].arena();
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (sums[c].value != 0) recorder_.memory(static_cast<Recorded>(c), sums[c], sums[c]);
  }
}

// Forward takes 2 FLOPs per weight and token. Attention takes 2 layers * channels * tokens^2 FLOPs
// per sequence, with causal attention counted half. This is a third of nn::Network::model_flops,
// which counts forward and backward.
Flops Engine::recomputed_flops(std::int64_t batch, std::int64_t tokens) const {
  const auto rows = static_cast<double>(batch * tokens);
  const double attention =
      2.0 * static_cast<double>(config_.network.channels) * static_cast<double>(tokens) * rows;
  Flops sum{};
  for (const nn::Pass& pass : plan_.passes) {
    if (pass.kind != nn::PassKind::block_recompute) continue;
    sum += Flops{attention};
    if (nn::recompute_of(config_.recompute, pass.layer) != nn::Recompute::full) continue;
    for (const nn::Parameter& parameter : plan_.units[pass.unit].parameters) {
      if (parameter.shape.size() == 2)
        sum += Flops{2.0 * static_cast<double>(parameter.count) * rows};
    }
  }
  return sum;
}

}  // namespace stepscope::zero
