// SPDX-License-Identifier: Apache-2.0
// How much of each communication call of a rank no compute hides, clipped to the call. On a device
// compute is every kernel of the same device that does not communicate; without one, what
// computes in the time budget (cpu_work.h).
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// Parallel to `calls`. O((slices + calls) log slices).
[[nodiscard]] std::vector<Ns> exposed_times(const RankView& view,
                                            std::span<const CollectiveCall> calls);

}  // namespace stepscope
