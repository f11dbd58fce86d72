// SPDX-License-Identifier: Apache-2.0
// The gradient messages in a step graph: DDP's buckets, the reduce-scatters of ZeRO and FSDP, the
// all-reduces of other data parallelism. A message carries gradients if it meets two conditions. It
// is an all-reduce or reduce-scatter of a group other than tensor, sequence, context or pipeline
// parallelism, and not of activations (collectives.h). Its rank launched it inside a parameter's
// AccumulateGrad or right after backward (or recomputed) work. A message below a thousandth of the
// largest of its pass does not count (norms, losses, flags).
//
// A pass is the messages of one group in one backward pass. A new step begins a new pass. So does
// forward work between two messages (another micro-batch).
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

struct GradientMember {
  std::uint32_t view = 0;
  std::uint32_t arrival = no_node;
  std::uint32_t transfer = no_node;
  Ns launched{};         // the launch call; the submission if there is no device
  bool in_hook = false;  // launched inside AccumulateGrad: by DDP, or by a hook of the user
};

struct GradientMessage {
  Bytes bytes{};  // S
  std::vector<GradientMember> members;
  // Several AccumulateGrad rows lie between the previous launch and this one. Its gradients came
  // one by one, so a smaller bucket would have been ready earlier. Otherwise all of it was handed
  // over at once (a unit of FSDP or of the engine).
  bool gradual = false;
  // Messages of a pass with one number were handed over together: no compute was launched between
  // them.
  std::uint32_t handed_over = 0;
};

struct GradientPass {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;           // row of CollectiveMatches::groups
  std::vector<GradientMessage> messages;  // by launch

  [[nodiscard]] Bytes bytes() const;
};

// A compute node and its launch; without a device, its start.
struct ComputePiece {
  Ns launched{};
  std::uint32_t node = no_node;
  Phase phase = Phase::other;
};

struct GradientTraffic {
  std::vector<GradientPass> passes;
  std::vector<std::vector<ComputePiece>> compute;  // by view, by launch
  std::uint64_t unjoined = 0;                      // messages not joined with their peers
};

// Empty without WhatIfInputs::phases. O(nodes log nodes).
[[nodiscard]] GradientTraffic find_gradient_traffic(const WhatIfInputs& inputs);

}  // namespace stepscope
