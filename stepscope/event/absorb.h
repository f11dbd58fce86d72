// SPDX-License-Identifier: Apache-2.0
// Joins two unsealed traces of one rank: parts of a file that were read in parallel, or windows of
// one run.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// Where the other trace's ids went.
struct AbsorbMap {
  std::vector<StringId> strings;
  std::vector<TrackId> tracks;
};

// By how much the detail row numbers of a part move: the rows of the parts before it.
struct DetailOffsets {
  std::uint32_t ops = 0;
  std::uint32_t copies = 0;
  std::uint32_t syncs = 0;

  [[nodiscard]] std::uint32_t of(Category c) const {
    if (c == Category::memcpy || c == Category::memset) return copies;
    return c == Category::sync ? syncs : ops;
  }
};

// Appends all rows of `from` to `into`; equal tracks (pid, tid, device) become one, notes add up,
// `into` keeps its metadata. Each column of `from` is freed as soon as it is copied, so the peak is
// one column above the sum. REQUIRES: neither is sealed, and both count time from one origin.
AbsorbMap absorb(Trace& into, Trace&& from);

}  // namespace stepscope
