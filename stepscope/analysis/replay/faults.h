// SPDX-License-Identifier: Apache-2.0
// What is wrong compared with peers, sibling groups, other steps or stages, and what the step would
// gain without it. A fault is more than its own variation over the steps explains, and its gain is
// the replay of the change that undoes it. A victim of another rank gains nothing by a change of
// its own and is no fault.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/stop.h"

namespace stepscope {

enum class StepFaultKind : std::uint8_t {
  slow_rank,        // its compute takes longer than its peers' in most steps
  late_host,        // its host takes longer
  data_loader,      // of one rank, or of all
  throttling,       // its compute takes longer from some step on
  pauses,           // rare long host work
  outlier_step,     // one step has more work than the others
  slow_group,       // transfers of a process group take longer than in its siblings
  stage_imbalance,  // a pipeline stage has more or slower work
  sync_calls        // calls wait for the device more than once a step
};
inline constexpr std::array<std::string_view, 9> step_fault_names = {
    "slow_rank",    "late_host",  "data_loader",     "throttling", "pauses",
    "outlier_step", "slow_group", "stage_imbalance", "sync_calls"};
static_assert(step_fault_names[static_cast<std::size_t>(StepFaultKind::sync_calls)] ==
              "sync_calls");

struct StepFault {
  StepFaultKind kind = StepFaultKind::slow_rank;
  std::vector<int> ranks{};              // empty: all, or none in particular
  std::optional<std::uint32_t> group{};  // row of CollectiveMatches::groups
  std::optional<int> stage{};
  std::vector<std::int64_t> steps{};  // Step::index: of the outlier, of the pauses, the first of
                                      // throttling
  Scenario scenario{};
  Ns gain{};              // per step, by the replay of `scenario`
  Ns excess{};            // per step, on the rank: what it takes more
  double ratio = 1;       // its time over that of what it is compared with
  bool rough = false;     // not in most steps, or in too few to tell: named if nothing else is, and
                          // if it gives back a tenth of the step
  std::size_t count = 0;  // pauses; calls that wait, per step and rank
};

// A fault must give back this share of the step.
inline constexpr double least_fault_share = 0.02;

// Largest gain first, of calls that wait too often a third: they are habit, not a difference. Needs
// at least three steps for what is told from their variation. O(nodes log nodes), and a replay for
// each suspect (a few dozen at most).
[[nodiscard]] std::vector<StepFault> find_faults(const WhatIfInputs& inputs, unsigned threads,
                                                 const StopFlag* stop = nullptr);

// Sets `beside_fault` of each what-if that saves at least `least_share` of a step by other
// durations: what it still saves once `fault` is undone. A replay for
// each. REQUIRES: the ranks have devices.
void find_saved_beside(const WhatIfInputs& inputs, const Scenario& fault, double least_share,
                       std::vector<WhatIf>& what_ifs, unsigned threads,
                       const StopFlag* stop = nullptr);

}  // namespace stepscope
