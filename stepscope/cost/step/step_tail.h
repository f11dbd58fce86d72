// SPDX-License-Identifier: Apache-2.0
// Work once per step: gradients to their owners, the optimizer, parameters to all ranks.
#pragma once

#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/offload_time.h"

namespace stepscope {

// Times of the work after the last micro-batch. Gradients: of the device that ends last, which may
// have hidden them in the drain of the pipeline. Optimizer and gather: of the device that owns
// most.
struct StepTail {
  double reduce = 0;          // all gradients of a device, with nothing hidden
  double reduce_exposed = 0;  // after the last backward
  double reduce_earlier = 0;  // exposed after the other micro-batches, if each is reduced
  double gather = 0;          // ZeRO-1 and 2: parameters, with nothing hidden
  double gather_exposed = 0;
  double first_gather = 0;   // ZeRO-3: of the unit that starts the step
  double last_reduce = 0;    // ZeRO-3: of the unit that ends the step
  double tie = 0;            // tied embeddings at both ends of the pipeline
  double drain_exposed = 0;  // gradients to the host
  double update = 0;         // the optimizer
  double moves = 0;          // of its states
  double owned = 0;          // parameters that a rank updates
};

// The work of a pipeline device over all its chunks; seconds of one micro-batch.
struct PipelineWork {
  double forward = 0;
  double backward = 0;
  double parameters = 0;
  double expert_parameters = 0;
  double trained = 0;  // the parts of these with gradients
  double trained_experts = 0;
  double drain = 0;  // backward of the previous devices, which end later
  UnitTime first;
  UnitTime last;
};
[[nodiscard]] PipelineWork work_of(const Stages& stages, const Plan& plan, std::size_t device,
                                   double drain);

// Gradients and parameters of one pipeline device. The tail has the largest values over all
// devices.
template <formula::Number N>
struct DeviceTail {
  N reduce = 0.0;
  N reduce_exposed = 0.0;
  N reduce_earlier = 0.0;
  N gather = 0.0;
  N gather_exposed = 0.0;
};
// N is double or Formula.
template <formula::Number N>
[[nodiscard]] DeviceTail<N> device_tail(const CostContext& context, const DataEntry& data,
                                        const Plan& plan, const PipelineWork& work);

// REQUIRES: context.stages of this plan. B is the last backward of a device, O = B (k - 1)/k, R all
// its reductions in k buckets, and C the copying part of R (PieceTime::copying). With overlap the
// exposed time is max(R - O, R / k) + contention C / R min(R, O), minus the drain of the pipeline
// that the device does not wait for.
[[nodiscard]] StepTail step_tail(const CostContext& context, const DataEntry& data,
                                 const OffloadRates& offload, const Plan& plan);

}  // namespace stepscope
