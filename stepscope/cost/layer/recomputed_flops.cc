// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/layer/recomputed_flops.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {

Flops recomputed_flops(const Transformer& model, const Plan& plan,
                       std::span<const std::int64_t> stage_layers) {
  double sum = 0;
  constexpr std::size_t hows = static_cast<std::size_t>(Recompute::full) + 1;  // of recompute_at
  std::vector<std::pair<LayerKind, std::array<double, hows>>> kinds;
  std::int64_t layer = 0;
  for (const std::int64_t layers : stage_layers)
    for (std::int64_t i = 0; i < layers; ++i, ++layer) {
      const LayerKind kind = layer_kind(model, layer);
      auto known = std::ranges::find(kinds, kind, [](const auto& k) { return k.first; });
      if (known == kinds.end()) {
        std::array<double, hows> again{};
        for (const Operation& o : layer_operations(model, plan, layer))
          for (std::size_t how = 0; how < hows; ++how)
            again[how] += o.forward.matrix.value * share_again(o, static_cast<Recompute>(how));
        known = kinds.insert(kinds.end(), {kind, again});
      }
      sum += known->second[static_cast<std::size_t>(recompute_at(plan, i))];
    }
  return Flops{sum * static_cast<double>(micro_batches(plan)) *
               static_cast<double>(tensor_ranks(plan) * plan.cp * plan.dp)};
}

}  // namespace stepscope
