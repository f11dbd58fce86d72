// SPDX-License-Identifier: Apache-2.0
// Joins two unsealed traces of one rank: parts of a file that were read in parallel, or windows of
// one run.
#pragma once

#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// Where the other trace's ids went.
struct AbsorbMap {
  std::vector<StringId> strings;
  std::vector<TrackId> tracks;
};

// Appends all rows of `from` to `into`; equal tracks (pid, tid, device) become one, notes add up,
// `into` keeps its metadata. Each column of `from` is freed as soon as it is copied, so the peak is
// one column above the sum. REQUIRES: neither is sealed, and both count time from one origin.
AbsorbMap absorb(Trace& into, Trace&& from);

}  // namespace stepscope
