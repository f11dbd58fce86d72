// SPDX-License-Identifier: Apache-2.0
// One file that holds several ranks → a trace for each. What tells ranks apart is what merging
// tools write: process names "rank N" (also "Rank N", "[rank N]", "rank N: python"), or our own
// member stepscopeRanks.
#pragma once

#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// The trace itself, alone, unless its processes name at least two ranks. Rows of processes that
// name none go to no rank and are counted in the first trace's notes. REQUIRES: not sealed.
[[nodiscard]] std::vector<Trace> split_ranks(Trace&& trace);

}  // namespace stepscope
