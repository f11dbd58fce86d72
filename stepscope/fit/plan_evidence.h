// SPDX-License-Identifier: Apache-2.0
// Evidence in traces about the plan of their job: its world, the sizes of the process groups of
// known dimension, and whether data-parallel ranks shard their states.
#pragma once

#include <optional>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// The first contradiction between plan and traces. It names both and the argument to give. Absent
// if they agree. `recorded_world`: from the traces, not from the user.
[[nodiscard]] std::optional<Error> contradiction(const Plan& plan, const JobResult& job,
                                                 std::optional<int> recorded_world);

// The format with most time of the traced products; absent if neither shapes nor kernels show it.
[[nodiscard]] std::optional<Dtype> traced_dtype(std::span<const RankResult> ranks);

}  // namespace stepscope
