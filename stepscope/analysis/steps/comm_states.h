// SPDX-License-Identifier: Apache-2.0
// The states of a device's communication operation over time. Every sweep that accounts for such
// operations uses this one definition.
#pragma once

#include <algorithm>
#include <cstdint>

#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// unsplit: the given traces cannot tell waiting from transferring.
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
