// SPDX-License-Identifier: Apache-2.0
// Evidence in traces about the plan of their job: its world, the sizes of the process groups of
// known dimension, and whether data-parallel ranks shard their states.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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

// Sequences of a micro-batch: the rows of the matrix products that take most time / (tokens of a
// sequence / context-parallel size). Absent without shapes, or if most of the products' time has
// rows that are no multiple of a sequence.
[[nodiscard]] std::optional<std::int64_t> traced_micro_batch(std::span<const RankResult> ranks,
                                                             std::int64_t sequence,
                                                             std::int64_t cp);

}  // namespace stepscope
