// SPDX-License-Identifier: Apache-2.0
// Which row encloses which on one thread. Rows come by start, longest first, so a stack suffices.
// Nesting is by intervals, not by calls: rows that overlap without nesting (ROCm, asynchronous
// annotations) belong to the row that began last.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// Calls visit(row, parent) for every slice of the track, in order. parent = the row that began last
// among the open rows with frame(row), or no_slice. O(rows of the track).
template <class Frame, class Visit>
void visit_nested(const Slices& slices, const Track& track, Frame&& frame, Visit&& visit) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
    while (!open.empty() && slices.end(SliceId{open.back()}) <= slices.start[i]) open.pop_back();
    visit(SliceId{i}, open.empty() ? no_slice : SliceId{open.back()});
    if (frame(SliceId{i})) open.push_back(i);
  }
}

}  // namespace stepscope
