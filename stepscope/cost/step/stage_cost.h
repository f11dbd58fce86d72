// SPDX-License-Identifier: Apache-2.0
// The stages of a plan's pipeline, computed from the layers' costs.
#pragma once

#include <cstdint>

#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/offload_time.h"

namespace stepscope {

[[nodiscard]] StageKey stage_key(const Plan& plan);

// The expected delay of the latest of n ranks behind their mean, as a share of a layer's time:
// jitter sqrt(2 ln n). The expected maximum of n normal variables approaches it from below (Cramer
// 1946, 28.6).
[[nodiscard]] double latest_rank(const ComputeModel& compute, std::int64_t ranks);

// True if the context's stages belong to this plan.
[[nodiscard]] bool has_stages(const CostContext& context, const Plan& plan);

// Fills context.stages. Allocates nothing if it has held this number of stages before.
void make_stages(CostContext& context, const DataEntry& data, const OffloadRates& offload,
                 const Plan& plan);

// The exposed time of ZeRO-3's gathers and reductions on a device in one micro-batch: the sum of
// its stages' data_forward or data_backward.
[[nodiscard]] Formula exposed_units(const CostContext& context, const DataEntry& data,
                                    const Plan& plan, std::int64_t device, Direction direction);

}  // namespace stepscope
