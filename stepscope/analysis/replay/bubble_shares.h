// SPDX-License-Identifier: Apache-2.0
// What a stage's bubble (pipeline_bubble.h) is due to. T is the time of the pipeline's step, W a
// rank's work in it; both come from the recorded steps replayed (what_if.h), first with messages
// between stages that take no time (T₁), then also with `stages_balanced` (T₂, W₂):
//   schedule   (p − 1)/(m v) of the time of its passes, balanced: what stages that are all alike
//   idle imbalance  (T₁ − T₂) − (W − W₂): negative on a stage that has more to do than the others
//   links      T − T₁
//   rest       what is left: launches, data loading, work that varies from one micro-batch to the
//              next, other communication; negative where a schedule fills its bubble (zero bubble)
// Their sum is the bubble, in whole ns.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/replay/what_if.h"

namespace stepscope {

// Of one rank, summed over its steps. What cannot be told is absent and part of `rest`.
struct BubbleShares {
  std::optional<Ns> schedule;   // needs the number of micro-batches
  std::optional<Ns> imbalance;  // needs the replay, and a trace of each stage
  std::optional<Ns> links;      // likewise
  Ns rest{};

  [[nodiscard]] Ns sum() const;
};

// Parallel to pipeline.ranks: by the formula alone, from each rank's own work.
[[nodiscard]] std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline);
// With the replay.
[[nodiscard]] std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline,
                                                      const WhatIfInputs& inputs);

}  // namespace stepscope
