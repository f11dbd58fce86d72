// SPDX-License-Identifier: Apache-2.0
// Where the threads of a CPU-only trace compute and communicate; time_budget.h says by which rules.
#pragma once

#include <vector>

#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Each list disjoint, in time order.
struct CpuWork {
  TrackId thread{};
  bool main = false;                    // else a thread of the backward graph, or any other
  std::vector<HostSpan> computing;      // empty for threads that are neither
  std::vector<HostSpan> communicating;  // inside communication rows
};

// One for each host thread.
[[nodiscard]] std::vector<CpuWork> cpu_work(const Trace& trace, const RankIndex& rank);

// By StringId: an operator computes with all that it calls (namespace::name). Nodes of the backward
// graph and ranges that a legacy trace shows as operators do so only where they call nothing.
[[nodiscard]] std::vector<bool> operator_names(const StringPool& strings);

// Whether a row is a communication operator of the host.
[[nodiscard]] bool is_host_communication(const Trace& trace, SliceId row);

}  // namespace stepscope
