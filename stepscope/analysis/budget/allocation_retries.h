// SPDX-License-Identifier: Apache-2.0
// Where a caching allocator found no room, freed what it had cached and allocated again. A trace
// does not carry what cudaMalloc returned, so this is inferred from the order of a thread's calls:
// frees followed by an allocation with nothing put on the device between them, and
//   - an allocation right before the frees (the one that failed), or
//   - two frees or more, and the same innermost operator around the first of them and the
//     allocation.
// Emptying the cache by hand stands in no operator; a context's first cudaFree stands alone.
#pragma once

#include <cstdint>
#include <span>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct AllocationRetries {
  std::uint64_t count = 0;
  std::uint64_t after_failure = 0;  // with an allocation right before the frees
  std::uint64_t frees = 0;
  Ns total{};  // from the first call of each to its last
  Ns worst_at{};
  Ns worst{};
};

// Those that begin in a step's annotation.
[[nodiscard]] AllocationRetries allocation_retries(const Trace& trace, const RankIndex& rank,
                                                   std::span<const Step> steps);

}  // namespace stepscope
