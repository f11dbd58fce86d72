// SPDX-License-Identifier: Apache-2.0
// The step that the performance model expects of a plan, by class: evaluate()'s terms, with its
// arithmetic by class of operation. What backward computes again is in its class, as the kernels of
// a trace show it. Products of attention that is not fused are matmuls, as their kernels are.
#pragma once

#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/parallelism.h"
#include "stepscope/fit/step_class.h"

namespace stepscope {

struct ExpectedStep {
  StepSeconds seconds{};                 // of the busiest device; their sum is StepCost::step()
  StepSeconds recompute{};               // of these: what backward computes again
  std::vector<std::string> assumptions;  // what the machine does not say, and what took its place
};

// REQUIRES: check_plan(model, plan). Errors: what the machine lacks.
[[nodiscard]] Result<ExpectedStep> expected_step(const Transformer& model, const Machine& machine,
                                                 const Network& network, const Plan& plan);

}  // namespace stepscope
