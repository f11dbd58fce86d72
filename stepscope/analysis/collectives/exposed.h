// SPDX-License-Identifier: Apache-2.0
// The exposed time of each communication call of a rank: the part that no compute hides, clipped to
// the call. On a device compute is every kernel of the same device except communication kernels.
// Without a device compute is as in the time budget (cpu_work.h).
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// Parallel to `calls`. O((slices + calls) log slices).
[[nodiscard]] std::vector<Ns> exposed_times(const RankView& view,
                                            std::span<const CollectiveCall> calls);

}  // namespace stepscope
