// SPDX-License-Identifier: Apache-2.0
// What happens once a step: gradients to their owners, the optimizer, parameters to all.
#pragma once

#include "stepscope/cost/step/step_cost.h"

namespace stepscope {

// What a device of the pipeline has of all its chunks together; seconds of one micro-batch.
struct PipelineWork {
  double forward = 0;
  double backward = 0;
  double parameters = 0;
  double expert_parameters = 0;
  double drain = 0;  // backward of the devices before it, which end later
  UnitTime first;
  UnitTime last;
};
[[nodiscard]] PipelineWork work_of(const Stages& stages, std::size_t device, std::size_t devices,
                                   double drain);

// Pieces that `bytes` are sent in.
[[nodiscard]] double bucket_count(const Plan& plan, double bytes);

// REQUIRES: context.stages of this plan. With B the last backward of a device, O = B (k - 1)/k,
// R all its reductions in k buckets, C of R copying (PieceTime::copying), and overlap: exposed
// max(R - O, R / k) + contention C / R min(R, O),
// less the drain of the pipeline that the device does not wait for.
[[nodiscard]] StepTail step_tail(const CostContext& context, const DataEntry& data,
                                 const OffloadRates& offload, const Plan& plan);

}  // namespace stepscope
