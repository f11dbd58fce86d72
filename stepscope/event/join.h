// SPDX-License-Identifier: Apache-2.0
// Appends one unsealed trace of a rank to another: parts of a file that were read in parallel, or
// windows of one run.
#pragma once

#include <cstdint>
#include <span>
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

// Joins the unsealed parts of one trace. Several threads read its rows in stretches (chunks of a
// file). The order of the stretches is restored, so the result does not depend on which thread read
// which.

// Where a stretch begins in its part's tables. It ends where the part's next one begins.
struct RowStretch {
  std::uint32_t part = 0;
  std::uint32_t first_slice = 0;
  std::uint32_t first_memory = 0;
  std::uint32_t first_counter = 0;
};

struct Joined {
  Trace trace;
  std::vector<AbsorbMap> maps;  // id maps of each part
};

// `stretches` is in the final order of rows, which within a part is the part's own. Equal tracks
// (pid, tid, device) become one, notes are added, metadata is the first part's. `threads` threads
// join columns and free them one by one, so the peak memory is the sum plus about a column per
// thread. REQUIRES: no part is sealed; the stretches cover all rows of all parts.
[[nodiscard]] Joined join(std::vector<Trace>&& parts, std::span<const RowStretch> stretches,
                          unsigned threads);

}  // namespace stepscope
