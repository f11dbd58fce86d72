// SPDX-License-Identifier: Apache-2.0
// What happens once a step: gradients to their owners, the optimizer, parameters to all.
#pragma once

#include "stepscope/cost/step_cost.h"

namespace stepscope {

// REQUIRES: context.stages of this plan. With B the last backward of a device, R all its
// reductions in k buckets, and overlap: exposed max(R - B (k - 1)/k, R / k) + contention min(R, B),
// less the drain of the pipeline that the device does not wait for.
[[nodiscard]] StepTail step_tail(const CostContext& context, const DataEntry& data,
                                 const OffloadRates& offload, const Plan& plan);

}  // namespace stepscope
