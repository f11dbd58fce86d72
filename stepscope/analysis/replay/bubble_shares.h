// SPDX-License-Identifier: Apache-2.0
// The causes of a stage's bubble (pipeline_bubble.h). T is the time of the pipeline's step, W a
// rank's work in it. Both come from replays of the recorded steps (what_if.h): with messages
// between stages that take no time (T₁), then also with the compute of each stage as of the mean
// stage (T₂, W₂; stage_balance.h).
//   schedule   (p − 1)/(m v) of the balanced time of its passes: the idle time of equal stages
//   imbalance  (T₁ − T₂) − (W − W₂): negative on a stage with more work than the others
//   links      T − T₁
//   rest       the remainder: launches, data loading, work that varies between micro-batches, other
//              communication; negative if a schedule fills its bubble (zero bubble)
// Their sum is the bubble, in whole ns.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {

// Of one rank, summed over its steps. Unknown shares are absent and part of `rest`.
struct BubbleShares {
  std::optional<Ns> schedule;   // needs the number of micro-batches
  std::optional<Ns> imbalance;  // needs the replay and a trace of each stage
  std::optional<Ns> links;      // likewise
  Ns rest{};

  [[nodiscard]] Ns sum() const;
};

// Parallel to pipeline.ranks. Uses only the formula and each rank's own work.
[[nodiscard]] std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline);
// Uses the replay.
[[nodiscard]] std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline,
                                                      const WhatIfInputs& inputs);

}  // namespace stepscope
