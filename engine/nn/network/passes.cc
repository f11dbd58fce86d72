// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/passes.h"

#include "engine/nn/network/units.h"

namespace stepscope::nn {
namespace {

Pass block_pass(PassKind kind, std::int64_t layer) {
  return {
      .kind = kind, .layer = static_cast<int>(layer), .unit = static_cast<std::size_t>(layer) + 1};
}

std::vector<Pass> forward_passes(const NetworkConfig& c) {
  std::vector<Pass> passes;
  passes.push_back({.kind = PassKind::embed});
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    passes.push_back(block_pass(PassKind::block, layer));
  }
  passes.push_back({.kind = PassKind::head, .unit = head_unit(c)});
  return passes;
}

}  // namespace

Recompute recompute_of(const RecomputePlan& plan, std::int64_t layer) {
  if (plan.kind != Recompute::every_k) return plan.kind;
  return layer % plan.every == 0 ? Recompute::none : Recompute::full;
}

std::vector<Pass> training_passes(const NetworkConfig& c, const RecomputePlan& recompute) {
  std::vector<Pass> passes = forward_passes(c);
  Pass& head = passes.back();
  head.writes_gradient = true;
  head.first_gradient = true;
  head.last_gradient = !c.tied;
  for (std::int64_t layer = c.layers - 1; layer >= 0; --layer) {
    if (recompute_of(recompute, layer) != Recompute::none) {
      passes.push_back(block_pass(PassKind::block_recompute, layer));
    }
    Pass backward = block_pass(PassKind::block_backward, layer);
    backward.writes_gradient = backward.first_gradient = backward.last_gradient = true;
    passes.push_back(backward);
  }
  passes.push_back({.kind = PassKind::embed_backward,
                    .writes_gradient = true,
                    .first_gradient = !c.tied,
                    .last_gradient = true});
  for (Pass& pass : passes) pass.training = true;
  return passes;
}

std::vector<Pass> evaluation_passes(const NetworkConfig& c) { return forward_passes(c); }

}  // namespace stepscope::nn
