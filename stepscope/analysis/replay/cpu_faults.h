// SPDX-License-Identifier: Apache-2.0
// Ranks without a device whose work takes longer than the same work at their peers.
//
// Other processes share the cores: they lengthen some steps of a piece of work and shorten none.
// The lower quartile of a piece over the steps is therefore nearly the rank's own time. A long
// piece may be disturbed in most steps, a short one is not: a rank whose core is slow takes longer
// for most of its pieces, a rank that is disturbed for some of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/replay/fault_changes.h"

namespace stepscope {

// Times of a rank's pieces of compute over those of the same pieces at its peers (the median rank
// of its role), weighted by time.
struct ComputeRatio {
  double median = 1;
  double most = 1;  // six tenths of the compute have this ratio or a larger one
};

// Ordinals of steps: [from, until).
struct StepRange {
  std::int32_t from = 0;
  std::int32_t until = 0;
};

// By view, of pieces that a rank and a peer have in at least half of the steps; 1 without peers.
[[nodiscard]] std::vector<ComputeRatio> compute_ratios(const WhatIfInputs& inputs, StepRange steps);

// Slow ranks and those that slow down, late hosts, data loaders of one rank, waits for collectives
// before their results are needed (early_waits.h; only these have a gain). The others' gains are
// still to be replayed.
[[nodiscard]] std::vector<StepFault> cpu_suspects(const WhatIfInputs& inputs);

}  // namespace stepscope
