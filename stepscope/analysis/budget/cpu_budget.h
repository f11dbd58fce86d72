// SPDX-License-Identifier: Apache-2.0
// The time budget of a CPU-only trace. time_budget.h states the rules.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Same contract as budget_pieces().
[[nodiscard]] std::vector<BudgetPiece> cpu_pieces(const Trace& trace, const RankIndex& rank,
                                                  std::span<const Step> steps,
                                                  const CommSplit& split);

[[nodiscard]] DeviceBudget cpu_budget(const Trace& trace, const RankIndex& rank,
                                      std::span<const Step> steps, const CommSplit& split);

// When the threads of a CPU-only trace compute and communicate. time_budget.h states the rules.

// Each list is disjoint and in time order.
struct CpuWork {
  TrackId thread{};
  bool main = false;                    // the main thread; else of the backward graph or other
  std::vector<HostSpan> computing;      // empty for threads that are neither
  std::vector<HostSpan> communicating;  // inside communication operators
};

// One entry for each host thread.
[[nodiscard]] std::vector<CpuWork> cpu_work(const Trace& trace, const RankIndex& rank);

// Indexed by StringId: true for operators (namespace::name). An operator computes with everything
// it calls. Nodes of the backward graph, and ranges that a legacy trace shows as operators, compute
// only where they call nothing.
[[nodiscard]] std::vector<bool> operator_names(const StringPool& strings);

// True if the row is a communication operator of the host, or a backend's row (backend_row.h).
[[nodiscard]] bool is_host_communication(const Trace& trace, SliceId row);

}  // namespace stepscope
