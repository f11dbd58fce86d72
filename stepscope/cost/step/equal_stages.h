// SPDX-License-Identifier: Apache-2.0
// The bubble of a plan's pipeline compared with that of equal stages, which is the one that texts
// state: (p - 1) / (m + p - 1) with p stages and m micro-batches. Both are shares of the time from
// a device's first pass to its last without sends.
#pragma once

#include <cstdint>
#include <optional>

#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/pipeline.h"

namespace stepscope {

struct EqualStages {
  double bubble = 0;         // share, if every stage took the mean of the stages
  double own = 0;            // share of the busiest device, with the stages as they are
  std::int64_t busiest = 0;  // that device
  double ratio = 1;          // its passes over the mean of the devices
};

// Absent with one stage. REQUIRES: the context's stages and pipeline are those of the plan.
[[nodiscard]] std::optional<EqualStages> equal_stages(const CostContext& context, const Plan& plan);

// The share of equal stages where it follows from the numbers of stages and micro-batches alone:
// (p - 1) / (v m + p - 1) with v chunks a device. The bubbles of other schedules depend on the
// parts of a pass: absent. REQUIRES: two stages or more.
[[nodiscard]] std::optional<Formula> equal_bubble_formula(const Plan& plan);

}  // namespace stepscope
