// SPDX-License-Identifier: Apache-2.0
// Splits one file with several ranks into one trace for each. Ranks are recognised as merging tools
// write them: process names or process ids "rank N" (also "Rank N", "[rank N]", "rank N: python"),
// process ids with a tag before the number of each process and device ("[TP00] 100", "[TP00-PP01]
// 0"; SGLang's profile merger), or our own member stepscopeRanks. The number of a tag with one
// number is the rank; other tags are numbered in their order.
#pragma once

#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// Returns only the trace itself unless its processes name at least two ranks. Rows of processes
// without a rank are dropped and counted in the first trace's notes. REQUIRES: not sealed.
[[nodiscard]] std::vector<Trace> split_ranks(Trace&& trace);

}  // namespace stepscope
