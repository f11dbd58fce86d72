// SPDX-License-Identifier: Apache-2.0
// The time budget of one rank (DESIGN: "Time budget"): every nanosecond of every step in exactly
// one category. The categories of a step sum to its wall time as integers; a sum that does not is a
// failed check().
//
// A rank with several GPUs has a budget for each; the rank's own is that of the GPU with the most
// work, because a union over GPUs would hide that one of them waits.
//
// A CPU-only trace: on the main thread compute = operators (namespace::name) with all that they
// call, and rows of other names that call nothing; likewise on the threads of the backward graph,
// while main computes nothing. Communication = a collective in flight on another thread, or main
// inside a communication operator. What runs inside a data loader is data. The rest is idle_host: a
// trace of operators does not show what Python does between them. Where kernels were launched and
// none was recorded (RankIndex::device_unseen), all but data loading and synchronising calls is
// idle_unexplained.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

[[nodiscard]] TimeBudget time_budget(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps, const CommSplit& split = {});

// What a device of the budget did when: pieces in time order that tile the steps, neighbours of one
// category as one. By category they sum to its budget. The arguments are those it was made with.
[[nodiscard]] std::vector<BudgetPiece> budget_pieces(const Trace& trace, const RankIndex& rank,
                                                     std::span<const Step> steps,
                                                     const CommSplit& split,
                                                     const DeviceBudget& device);

}  // namespace stepscope
