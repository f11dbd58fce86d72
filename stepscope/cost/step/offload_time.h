// SPDX-License-Identifier: Apache-2.0
// What it costs to keep states outside the device: the rates of the links that a plan uses, and the
// optimizer step where its states are.
#pragma once

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/parallelism.h"
#include "stepscope/cost/time/compute_time.h"

namespace stepscope {

// Bytes per second of one device; 0 where the plan does not need them.
struct OffloadRates {
  double link = 0;         // device to host, each direction
  double host_memory = 0;  // an optimizer on the host runs at this
  double nvme_read = 0;
  double nvme_write = 0;
  double fetch = 0;  // parameters, from where they are to the device
  double drain = 0;  // gradients, from the device to where they go
};

// Names the field that the machine lacks for what the plan moves away.
[[nodiscard]] Result<OffloadRates> offload_rates(const Machine& machine, const Plan& plan);

// One optimizer step of `owned` parameters. On the device: one pass over the gradient, the new
// parameter, and master and states read and written. On the host the same pass at its memory's
// rate; gradients go there and parameters come back unless they already are there; from NVMe all
// states are read and written besides, before and after.
template <formula::Number N>
struct OptimizerTime {
  N update;  // arithmetic, which is traffic
  N moves;   // over links and drives
};
// N is double or Formula.
template <formula::Number N>
[[nodiscard]] OptimizerTime<N> optimizer_time(const ComputeModel& compute,
                                              const OffloadRates& rates, const Plan& plan,
                                              double owned);

// Bytes that an optimizer passes over for each parameter.
template <formula::Number N>
[[nodiscard]] constexpr N optimizer_bytes(const Precision& p) {
  using formula::bytes;
  return bytes<N>(p.accumulated_gradient_bytes, "A") +
         2.0 * (bytes<N>(p.master_bytes, "M") + bytes<N>(p.optimizer_state_bytes, "O")) +
         bytes<N>(p.parameter_bytes, "P");
}

}  // namespace stepscope
