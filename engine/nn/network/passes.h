// SPDX-License-Identifier: Apache-2.0
// A step of training as a list of passes, each over the parameters of one unit. The list depends
// only on the network and the recomputation, so an engine can plan fetches and releases ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/nn/network/network_config.h"

namespace stepscope::nn {

// The values that backward recomputes instead of reading forward's:
//   selective  attention, the activation function and the outputs of the norms (no product);
//   full       the whole block, from its input;
//   every_k    the first of each k layers is kept whole, the others are recomputed fully.
enum class Recompute : std::uint8_t { none, selective, full, every_k };
struct RecomputePlan {
  Recompute kind = Recompute::none;
  int every = 1;  // k of every_k
};
// The recomputation of this layer: none, selective or full.
[[nodiscard]] Recompute recompute_of(const RecomputePlan& plan, std::int64_t layer);

enum class PassKind : std::uint8_t {
  embed,
  block,
  head,  // final norm, logits, loss; in training also their backward
  block_recompute,
  block_backward,
  embed_backward
};

struct Pass {
  PassKind kind = PassKind::embed;
  int layer = -1;         // of a block
  std::size_t unit = 0;   // whose parameters it reads
  bool training = false;  // part of a training list: dropout is applied
  bool writes_gradient = false;
  bool first_gradient = false;  // of this unit in the step
  bool last_gradient = false;   // the unit's gradient is complete after it
};

[[nodiscard]] std::vector<Pass> training_passes(const NetworkConfig& config,
                                                const RecomputePlan& recompute);
// Forward alone, with the loss.
[[nodiscard]] std::vector<Pass> evaluation_passes(const NetworkConfig& config);

}  // namespace stepscope::nn
