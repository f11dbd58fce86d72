// SPDX-License-Identifier: Apache-2.0
// One rank's analyses in the form that the MFU budget needs.
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

// Absent for int8 and unknown formats, which have no peak here.
[[nodiscard]] std::optional<Dtype> dtype_of(OperandFormat precision);

// Covers the steps at `places` (indices into the rank's steps behind `executed`), which are those
// at `budget_places` of `budget`. A rank that drives several GPUs counts once per GPU: its `steps`
// are device steps, and the question's world size must be the number of devices. A GPU with less
// than a hundredth of the busiest GPU's compute does not count. The caller adds the results of
// other analyses: `work->contention` and `pipeline_receive_wait`.
[[nodiscard]] MfuRank mfu_rank(int rank, const TimeBudget& budget,
                               std::span<const std::size_t> budget_places, const Executed& executed,
                               std::span<const std::size_t> places);

// Time that matrix products and attention lost to concurrent communication, summed over the given
// rows (Overlap::contention); for ComputeWork::contention. Absent without such rows. A negative sum
// means that nothing was slowed.
[[nodiscard]] std::optional<Ns> product_contention(std::span<const Contention> rows);

}  // namespace stepscope
