// SPDX-License-Identifier: Apache-2.0
// Appends one unsealed trace of a rank to another: parts of a file that were read in parallel, or
// windows of one run.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// Maps ids of the other trace to ids of the joined one.
struct AbsorbMap {
  std::vector<StringId> strings;
  std::vector<TrackId> tracks;
};

// Offsets of a part's detail row numbers: the numbers of rows in the parts before it.
struct DetailOffsets {
  std::uint32_t ops = 0;
  std::uint32_t copies = 0;
  std::uint32_t syncs = 0;

  [[nodiscard]] std::uint32_t of(Category c) const {
    if (c == Category::memcpy || c == Category::memset) return copies;
    return c == Category::sync ? syncs : ops;
  }
};

// Appends all rows of `from` to `into`. Equal tracks (pid, tid, device) become one, notes are
// added, and `into` keeps its metadata. Each column of `from` is freed as soon as it is copied, so
// the peak memory is the sum plus one column. REQUIRES: neither is sealed; both count time from one
// origin.
AbsorbMap absorb(Trace& into, Trace&& from);

}  // namespace stepscope
