// SPDX-License-Identifier: Apache-2.0
// What `stepscope analyze` expects of the job: by shapes where the machine is known, and of the
// step where a model is given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/cli/analyze_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/fit/expectation.h"

namespace stepscope {

// The plan that the flags describe, of a job of `world` ranks whose products run in `dtype`
// (absent: not known). dp is what the other degrees leave of the world, where nobody gave it;
// --dtype and a plan file say more than the traces.
[[nodiscard]] Result<Plan> plan_of_run(const AnalyzeFlags& flags, const Machine& machine,
                                       std::optional<int> world,
                                       std::optional<Dtype> dtype = std::nullopt);

// Needs report.job, .machine and .world_size. A plan that was given and that the traces contradict
// or the model cannot run is a failure; why else there is nothing to expect is a remark.
[[nodiscard]] std::optional<Expectation> expected_of_job(const AnalyzeFlags& flags,
                                                         const Analysis& report,
                                                         std::optional<int> recorded_world,
                                                         std::vector<std::string>& remarks,
                                                         Failures& failures);

}  // namespace stepscope
