// SPDX-License-Identifier: Apache-2.0
// The MFU budget of an analysed job.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/fit/mfu_budget.h"

namespace stepscope {

struct MfuFigures {
  // For the whole job's global batch: the convention for MFU first, then the others.
  std::vector<ModelFlops> model_flops;
  std::optional<FlopRate> peak;  // --peak-tflops
  std::optional<Dtype> dtype;
  std::optional<double> price_per_gpu_hour;
  const Machine* machine = nullptr;  // null: not in the catalogue
  std::optional<int> world_size;     // absent: the number of ranks
};

// The indices of the steps that every rank has, ascending.
[[nodiscard]] std::vector<std::int64_t> common_steps(const JobSteps& steps);

// Covers the steps that every rank has. Errors: no step, or no peak (the message asks for
// --peak-tflops).
[[nodiscard]] Result<MfuBudget> mfu_of_job(const JobResult& job, const MfuFigures& figures);

}  // namespace stepscope
