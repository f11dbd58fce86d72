// SPDX-License-Identifier: Apache-2.0
// The time budget of a CPU-only trace. time_budget.h states the rules.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"

namespace stepscope {

// Same contract as budget_pieces().
[[nodiscard]] std::vector<BudgetPiece> cpu_pieces(const Trace& trace, const RankIndex& rank,
                                                  std::span<const Step> steps,
                                                  const CommSplit& split);

[[nodiscard]] DeviceBudget cpu_budget(const Trace& trace, const RankIndex& rank,
                                      std::span<const Step> steps, const CommSplit& split);

}  // namespace stepscope
