// SPDX-License-Identifier: Apache-2.0
// Splits one file with several ranks into one trace for each. Ranks are recognised as merging tools
// write them: process names "rank N" (also "Rank N", "[rank N]", "rank N: python"), or our own
// member stepscopeRanks.
#pragma once

#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// Returns only the trace itself unless its processes name at least two ranks. Rows of processes
// without a rank are dropped and counted in the first trace's notes. REQUIRES: not sealed.
[[nodiscard]] std::vector<Trace> split_ranks(Trace&& trace);

}  // namespace stepscope
