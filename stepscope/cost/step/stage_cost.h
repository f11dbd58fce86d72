// SPDX-License-Identifier: Apache-2.0
// The stages of a plan's pipeline, from the layers' costs.
#pragma once

#include <cstdint>

#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/offload_time.h"

namespace stepscope {

[[nodiscard]] StageKey stage_key(const Plan& plan);

// How far the latest of n ranks is behind their mean, of a layer's time: jitter sqrt(2 ln n), which
// the expected maximum of n normal variables nears from below (Cramer 1946, 28.6).
[[nodiscard]] double latest_rank(const ComputeModel& compute, std::int64_t ranks);

// Whether the context's stages are those of this plan.
[[nodiscard]] bool has_stages(const CostContext& context, const Plan& plan);

// Fills context.stages; allocates nothing once it has held as many.
void make_stages(CostContext& context, const DataEntry& data, const OffloadRates& offload,
                 const Plan& plan);

// What ZeRO-3's gathers and reductions expose on a device in one micro-batch: the sum of its
// stages' data_forward or data_backward.
[[nodiscard]] Formula exposed_units(const CostContext& context, const DataEntry& data,
                                    const Plan& plan, std::int64_t device, Direction direction);

}  // namespace stepscope
