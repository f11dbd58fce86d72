// SPDX-License-Identifier: Apache-2.0
// Where the threads of a CPU-only trace compute and communicate; time_budget.h says by which rules.
#pragma once

#include <vector>

#include "stepscope/analysis/host_waits.h"
#include "stepscope/analysis/rank_index.h"
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

// Whether a row is a communication operator of the host.
[[nodiscard]] bool is_host_communication(const Trace& trace, SliceId row);

}  // namespace stepscope
