// SPDX-License-Identifier: Apache-2.0
// The expected step of a plan by class: evaluate()'s terms, with the arithmetic by class of
// operation. Recomputed work is in the class of the original, as in the kernels of a trace.
// Products of unfused attention are matmuls, as their kernels are.
#pragma once

#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/fit/step_class.h"

namespace stepscope {

struct ExpectedStep {
  StepSeconds seconds{};                 // of the busiest device; their sum is StepCost::step()
  StepSeconds recompute{};               // of these: the part that backward recomputes
  std::vector<std::string> assumptions;  // values that the machine lacks, and their substitutes
};

// REQUIRES: check_plan(model, plan). Errors name what the machine lacks.
[[nodiscard]] Result<ExpectedStep> expected_step(const Transformer& model, const Machine& machine,
                                                 const Network& network, const Plan& plan);

}  // namespace stepscope
