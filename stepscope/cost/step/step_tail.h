// SPDX-License-Identifier: Apache-2.0
// What happens once a step: gradients to their owners, the optimizer, parameters to all.
#pragma once

#include "stepscope/cost/step/cost_context.h"
#include "stepscope/cost/step/offload_time.h"

namespace stepscope {

// What happens once a step, after the last micro-batch. Gradients: of the device that ends last,
// which may have had the drain of the pipeline to hide them; optimizer and gather: of the device
// that owns most.
struct StepTail {
  double reduce = 0;          // all of a device's gradients, nothing hidden
  double reduce_exposed = 0;  // after the last backward
  double reduce_earlier = 0;  // exposed after the other micro-batches, where each is reduced
  double gather = 0;          // ZeRO-1 and 2: parameters, nothing hidden
  double gather_exposed = 0;
  double first_gather = 0;   // ZeRO-3: of the unit that starts the step
  double last_reduce = 0;    // and of the one that ends it
  double tie = 0;            // tied embeddings at both ends of the pipeline
  double drain_exposed = 0;  // gradients to the host
  double update = 0;         // the optimizer
  double moves = 0;          // of its states
  double owned = 0;          // parameters that a rank updates
};

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

// Gradients and parameters of one device of the pipeline; the tail has the largest of all devices.
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

// REQUIRES: context.stages of this plan. With B the last backward of a device, O = B (k - 1)/k,
// R all its reductions in k buckets, C of R copying (PieceTime::copying), and overlap: exposed
// max(R - O, R / k) + contention C / R min(R, O),
// less the drain of the pipeline that the device does not wait for.
[[nodiscard]] StepTail step_tail(const CostContext& context, const DataEntry& data,
                                 const OffloadRates& offload, const Plan& plan);

}  // namespace stepscope
