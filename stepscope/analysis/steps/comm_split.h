// SPDX-License-Identifier: Apache-2.0
// The instant at which each communication operation of one rank stops waiting and starts to
// transfer. Matching collectives over ranks produces it; the time budget of the rank uses it.
#pragma once

#include <algorithm>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

struct CommSpan {
  SliceId slice = no_slice;
  // max(own start, last arrival); for a broadcast the root's arrival, for send and receive the
  // peer's. The operation waits before this instant and transfers after it.
  Ns transfer_start{};
  bool split = false;  // false: the given traces cannot tell
  Ns end = Ns::max();  // if before the row's end: of a message that was collected later
};

struct CommSplit {
  std::vector<CommSpan> spans;  // by slice; operations that are not listed are not split

  [[nodiscard]] const CommSpan* find(SliceId slice) const {
    const auto at = std::lower_bound(
        spans.begin(), spans.end(), slice,
        [](const CommSpan& span, SliceId id) { return index(span.slice) < index(id); });
    return at != spans.end() && at->slice == slice ? &*at : nullptr;
  }
};

}  // namespace stepscope
