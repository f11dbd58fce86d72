// SPDX-License-Identifier: Apache-2.0
// What a machine should take for the analysed job: by shapes where the machine is known, and of the
// whole step where a model is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/fit/expectation.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/inputs/job_description.h"

namespace stepscope {

// What the traces show of the plan; absent: not known.
struct TracedPlan {
  std::optional<Dtype> dtype{};  // of the matrix products
  std::optional<std::int64_t> micro_batch{};
};

// The plan of a run: what the description says of it, of a job of `world` ranks. dp is what the
// other degrees leave of the world, where nobody gave it; a plan file and what the description says
// go before the traces.
[[nodiscard]] Result<Plan> plan_of_run(const JobDescription& given, const DescribedJob& job,
                                       const ParallelSizes& sizes, const Machine& machine,
                                       std::optional<int> world, const TracedPlan& traced = {});

// Needs analysis.job, .machine and .world_size. A plan that was given and that the traces
// contradict or the model cannot run is a failure; why else there is nothing to expect is a remark.
[[nodiscard]] std::optional<Expectation> expected_of_job(
    const JobDescription& given, const DescribedJob& described, const ParallelSizes& sizes,
    const Analysis& analysis, std::optional<int> recorded_world, Messages& remarks,
    std::vector<Error>& failures);

}  // namespace stepscope
