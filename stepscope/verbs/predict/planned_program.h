// SPDX-License-Identifier: Apache-2.0
// The step of a plan as a program for simulators: every device's operations for every micro-batch
// in the order of the pipeline's schedule, with the times of the performance model; collectives
// with their bytes; the reduction of each layer's gradients during the backward of the layers
// before it; the optimizer at the end. The host's time to launch is not in it, nor contention
// between arithmetic and communication.
#pragma once

#include <cstdint>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/write/job_program.h"

namespace stepscope {

inline constexpr std::int64_t most_planned_devices = 8192;
inline constexpr std::int64_t most_planned_nodes = 50'000'000;  // on all devices

// REQUIRES: check_plan(model, plan). Errors: a schedule other than GPipe and 1F1B, a tensor layout
// other than 1d, more devices or nodes than above, values that the machine lacks.
[[nodiscard]] Result<JobProgram> planned_program(const Transformer& model, const Machine& machine,
                                                 const Network& network, const Plan& plan);

}  // namespace stepscope
