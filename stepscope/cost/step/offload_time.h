// SPDX-License-Identifier: Apache-2.0
// The cost of states outside the device: the rates of the links that a plan uses, and the optimizer
// step at the place of its states.
#pragma once

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/time/compute_time.h"

namespace stepscope {

// Bytes per second of one device; 0 if the plan does not need them.
struct OffloadRates {
  double link = 0;         // device to host, each direction
  double host_memory = 0;  // speed of an optimizer on the host
  double nvme_read = 0;
  double nvme_write = 0;
  double fetch = 0;  // parameters, from their place to the device
  double drain = 0;  // gradients, from the device to their place
};

// Errors name the field that the machine lacks for the plan's offload.
[[nodiscard]] Result<OffloadRates> offload_rates(const Machine& machine, const Plan& plan);

// One optimizer step of `owned` parameters. On the device: one pass over the gradient, the new
// parameter, and master and states read and written. On the host: the same pass at its memory's
// rate; gradients move there and parameters come back unless they are already there. With NVMe all
// states are also read before and written after.
template <formula::Number N>
struct OptimizerTime {
  N update;  // arithmetic, bound by traffic
  N moves;   // over links and drives
};
// N is double or Formula.
template <formula::Number N>
[[nodiscard]] OptimizerTime<N> optimizer_time(const ComputeModel& compute,
                                              const OffloadRates& rates, const Plan& plan,
                                              double owned);

// Bytes that an optimizer reads and writes per parameter.
template <formula::Number N>
[[nodiscard]] constexpr N optimizer_bytes(const Precision& p) {
  using formula::bytes;
  return bytes<N>(p.accumulated_gradient_bytes, "A") +
         2.0 * (bytes<N>(p.master_bytes, "M") + bytes<N>(p.optimizer_state_bytes, "O")) +
         bytes<N>(p.parameter_bytes, "P");
}

}  // namespace stepscope
