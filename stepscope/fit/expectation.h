// SPDX-License-Identifier: Apache-2.0
// The expectations for a job on a machine, and under a plan if a model is given.
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
  std::vector<ExpectedOperators> ranks;         // ranks with shapes
  std::vector<ExpectedCollective> collectives;  // largest gap first
  std::vector<std::string> assumptions;         // values that the machine lacks, with substitutes
};

// The expectations that need no model. `job` must outlive the result. Errors name what the machine
// lacks.
[[nodiscard]] Result<Expectation> expect_by_shapes(const JobResult& job, const Machine& machine,
                                                   std::optional<int> world_size);

}  // namespace stepscope
