// SPDX-License-Identifier: Apache-2.0
// The effect of a change: the recorded steps replayed with other durations. Everything the change
// does not touch keeps its measured values, including delays. An answer is as good as the
// dependencies in the graph (Replay::residual_share is the unexplained part).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/replay/scenario_changes.h"
#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/stop.h"

namespace stepscope {

// The shortest mean step that a change can give, whatever a replay says: a step with the work of
// the others is no shorter than they are, and a faster host saves the time in which it kept devices
// waiting at most. Zero for other changes.
[[nodiscard]] Ns shortest_step(const WhatIfInputs& inputs, const Scenario& scenario);

// The scenarios of `analyze`: no waiting, communication free (all, and each kind), host free, data
// free, sync free, copies free, devices alone, matmuls and other compute a tenth faster, bandwidth
// × 2, each rank as its peers (at most the 16 latest), balanced stages and ranks, more prefetching.
// Only scenarios that change something. Largest gain first. `fault` may be null. Else answers that
// save at least a hundredth of a step by other durations get `beside_fault`; the ranks must have
// devices.
[[nodiscard]] std::vector<WhatIf> standing_what_ifs(const WhatIfInputs& inputs,
                                                    const Scenario* fault, const Workers& workers,
                                                    const StopFlag* stop = nullptr);

// Changes of communication also concern calls whose peers are not in the traces, so that waiting
// and transfer are one. Their transfer takes between nothing and all of that time. So the answer is
// a range: at least what the other calls give; at most what a replay gives in which all of their
// time is transfer, or, if that is more, their exposed time of the rank that has most of it, times
// the changed part: what waited for them may have no row, and then the replay keeps it.
[[nodiscard]] std::vector<WhatIf> what_if(const WhatIfInputs& inputs,
                                          std::span<const Scenario> scenarios,
                                          const Workers& workers, const StopFlag* stop = nullptr);

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

// The shares of one rank, summed over its steps. Unknown shares are absent and part of `rest`.
struct BubbleShares {
  std::optional<Ns> schedule;   // needs the number of micro-batches
  std::optional<Ns> imbalance;  // needs the replay and a trace of each stage
  std::optional<Ns> links;      // needs the replay and a trace of each stage
  Ns rest{};

  [[nodiscard]] Ns sum() const;
};

// Parallel to pipeline.ranks. Uses only the formula and each rank's own work.
[[nodiscard]] std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline);
// Uses the replay.
[[nodiscard]] std::vector<BubbleShares> bubble_shares(const PipelineBubble& pipeline,
                                                      const WhatIfInputs& inputs);

}  // namespace stepscope
