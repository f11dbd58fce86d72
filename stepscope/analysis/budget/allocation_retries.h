// SPDX-License-Identifier: Apache-2.0
// Times at which a caching allocator found no room, freed its cached memory and allocated again. An
// export of Nsight Systems has what cudaMalloc returned (call_results_key): there a retry begins
// with a call that failed. Other traces lack it, and retries are inferred from the order of a
// thread's calls. A retry is then a run of frees followed by an allocation, with no launch in
// between, and either
//   - an allocation less than 1 ms before the frees, calls that wait apart (the failed one), or
//   - at least two frees, where one innermost operator holds the first free and the allocation.
// Emptying the cache by hand is not a retry: it is inside no operator. The first cudaFree of a
// context is not one either: it is a single free. A free of less than 2 µs freed nothing. Nor is
// what a library frees and allocates when it is set up (start_up.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/recording/recording.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct AllocationRetries {
  std::uint64_t count = 0;
  std::uint64_t after_failure = 0;  // with an allocation right before the frees
  std::uint64_t frees = 0;
  bool inferred = true;  // from the order of calls: the trace lacks what they returned
  Ns total{};            // from the first call of each retry to its last
  Ns worst_at{};
  Ns worst{};
  // Pauses of the threads right before the first frees, at least 100 µs long. The allocator waits
  // there for blocks in use; profilers do not record that call. `row` is the first free.
  std::vector<HostSpan> pauses{};
};

// Counts the retries that begin inside a step's annotation.
[[nodiscard]] AllocationRetries allocation_retries(const Trace& trace, const RankIndex& rank,
                                                   std::span<const Step> steps,
                                                   const StartUp& start_up = {});

}  // namespace stepscope
