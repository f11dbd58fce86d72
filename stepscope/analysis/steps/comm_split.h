// SPDX-License-Identifier: Apache-2.0
// The instant at which each communication operation of one rank stops waiting and starts to
// transfer. Matching collectives over ranks produces it; the time budget of the rank uses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

struct CommSpan {
  SliceId slice = no_slice;
  // max(own start, last arrival); for a broadcast the root's arrival, for send and receive the
  // peer's. The operation waits before this instant and transfers after it.
  Ns transfer_start{};
  bool split = false;  // false: the given traces cannot split it
  Ns end = Ns::max();  // if before the row's end: of a message that was collected later
};

struct CommSplit {
  std::vector<CommSpan> spans;  // by slice; operations that are not listed are not split

  [[nodiscard]] const CommSpan* find(SliceId slice) const {
    const auto at = std::ranges::lower_bound(spans, slice, {}, &CommSpan::slice);
    return at != spans.end() && at->slice == slice ? &*at : nullptr;
  }
};

// The states of a device's communication operation over time. Every sweep that accounts for such
// operations uses this one definition.

// unsplit: the given traces cannot separate waiting from transferring.
enum class CommState : std::uint8_t { waiting, transferring, unsplit };

// Calls give(state, start, end) for the one or two states of `op` in time order. A part may be
// empty.
template <class Give>
void for_each_comm_state(const Trace& trace, const CommSplit& split, SliceId op, Give&& give) {
  const Ns start = trace.slices.start[index(op)];
  const Ns end = trace.slices.end(op);
  const CommSpan* span = split.find(op);
  if (span != nullptr && span->split) {
    const Ns transfer = std::clamp(span->transfer_start, start, end);
    give(CommState::waiting, start, transfer);
    give(CommState::transferring, transfer, end);
    return;
  }
  // A group of one rank waits for nobody.
  const Collective* collective = trace.collective(op);
  const bool alone = collective != nullptr && collective->group_size == 1;
  give(alone ? CommState::transferring : CommState::unsplit, start, end);
}

}  // namespace stepscope
