// SPDX-License-Identifier: Apache-2.0
// One rank's analyses as the MFU budget wants them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/work/executed.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/fit/mfu_question.h"

namespace stepscope {

// int8 and unknown formats have no peak here: absent.
[[nodiscard]] std::optional<Dtype> dtype_of(OperandFormat precision);

// Of the steps at `places` (indices into the rank's steps, of which `budget` and `executed` were
// made). A rank that drives several GPUs counts as so many: its `steps` are device steps, and the
// question's world size must be the number of devices. A GPU with less than a hundredth of the
// busiest one's compute is not one that the job computes on. The caller adds what comes from other
// analyses: `work->contention` and `pipeline_receive_wait`.
[[nodiscard]] MfuRank mfu_rank(int rank, const TimeBudget& budget, const Executed& executed,
                               std::span<const std::size_t> places);

// What communication beside them cost matrix products and attention, summed over the rows given
// (Overlap::contention): for ComputeWork::contention. Absent without such rows. A negative sum
// means that nothing was slowed.
[[nodiscard]] std::optional<Ns> product_contention(std::span<const Contention> rows);

}  // namespace stepscope
