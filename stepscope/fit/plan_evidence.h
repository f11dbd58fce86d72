// SPDX-License-Identifier: Apache-2.0
// What traces say about the plan that their job ran by: its world, the sizes of the process groups
// whose dimension is known, and whether data-parallel ranks shard what they hold.
#pragma once

#include <optional>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

// The first contradiction between plan and traces, which names both and what to give; absent where
// none is seen. `recorded_world`: of the traces themselves, not the user's.
[[nodiscard]] std::optional<Error> contradiction(const Plan& plan, const JobResult& job,
                                                 std::optional<int> recorded_world);

// The format that most of the time of the traced products is spent in; absent where neither shapes
// nor kernels tell.
[[nodiscard]] std::optional<Dtype> traced_dtype(const JobResult& job);

}  // namespace stepscope
