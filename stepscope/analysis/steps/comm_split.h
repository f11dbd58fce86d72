// SPDX-License-Identifier: Apache-2.0
// Where each communication operation of one rank stops to wait and starts to transfer: what
// matching collectives over ranks found, and the time budget of that rank needs.
#pragma once

#include <algorithm>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

struct CommSpan {
  SliceId slice = no_slice;
  // max(own start, last arrival); the root's arrival for a broadcast, the peer's for send and
  // receive. Before it the operation waits, from it on it transfers.
  Ns transfer_start{};
  bool split = false;  // false: the traces at hand cannot tell
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
