// SPDX-License-Identifier: Apache-2.0
// The time budget of one rank (DESIGN: "Time budget"): every nanosecond of every step is in exactly
// one category. The categories of a step sum to its wall time as integers; a wrong sum is a failed
// check().
//
// A rank with several GPUs has one budget per GPU. The rank's own budget is that of the GPU with
// the most work, because a union over GPUs would hide that one of them waits.
//
// Kernels that wait (class `wait`) are no work: a time in which nothing else runs is idle. If its
// cause is neither the host nor data, it is idle_dependency.
//
// A CPU-only trace: the main thread computes in operators (namespace::name), with everything they
// call, and in rows of other names that call nothing. The same holds for the threads of the
// backward graph while the main thread does not compute. Time is communication if a collective or a
// message is in flight, or if the main thread is in a communication operator. Time inside a data
// loader is data. The rest is idle_host, because a trace of operators does not show Python between
// them. If kernels were launched but no kernel was recorded (RankIndex::device_unseen), or if no
// operator and no communication was recorded, all time except data loading and synchronising calls
// is not_recorded.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// The first and the last instant of a rank's rows. Steps of a job may begin before a rank's
// recording and end after it.
struct RowSpan {
  Ns first = Ns::min();
  Ns last = Ns::max();
};

[[nodiscard]] TimeBudget time_budget(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps, const CommSplit& split = {},
                                     RowSpan rows = {});

// The timeline of a device of the budget: pieces in time order that tile the steps. Adjacent pieces
// of one category are merged. Their sums by category equal the device's budget. Pass the same
// arguments as to time_budget().
[[nodiscard]] std::vector<BudgetPiece> budget_pieces(const Trace& trace, const RankIndex& rank,
                                                     std::span<const Step> steps,
                                                     const CommSplit& split,
                                                     const DeviceBudget& device);

// The work of each GPU of a rank between its first and its last operation. Times are unions of
// intervals over all streams, so overlapping kernels count once. Kernels that wait count as idle.

struct GpuWindow {
  int device = -1;
  Ns start{};    // start of the first operation
  Ns end{};      // end of the operation that ends last
  Ns compute{};  // at least one kernel other than communication runs; copy kernels are compute
  Ns comm{};     // at least one communication kernel runs
  Ns copy{};     // at least one memcpy or memset row runs
  Ns overlap{};  // compute and communication run at once
  Ns busy{};     // any of compute, comm, copy
  Ns idle{};     // none of them: busy + idle = end - start
};

// One entry for each GPU with work, in the order of `rank.devices`. Empty for a CPU-only trace.
[[nodiscard]] std::vector<GpuWindow> gpu_windows(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
