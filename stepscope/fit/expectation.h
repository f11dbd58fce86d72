// SPDX-License-Identifier: Apache-2.0
// All that a machine (and, where it is given, a model under a plan) lets one expect of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/fit/expected_collectives.h"
#include "stepscope/fit/expected_operators.h"
#include "stepscope/fit/step_comparison.h"

namespace stepscope {

struct Expectation {
  std::string machine;
  std::optional<StepComparison> step;           // absent without a model
  std::vector<ExpectedOperators> ranks;         // those with shapes
  std::vector<ExpectedCollective> collectives;  // largest gap first
  std::vector<std::string> assumptions;         // what the machine does not say
};

// What needs no model. `job` outlives the result. Errors: what the machine lacks.
[[nodiscard]] Result<Expectation> expect_by_shapes(const JobResult& job, const Machine& machine,
                                                   std::optional<int> domain,
                                                   std::optional<int> world_size);

}  // namespace stepscope
