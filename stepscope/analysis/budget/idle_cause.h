// SPDX-License-Identifier: Apache-2.0
// The cause of a gap [a, b] in which a device had no work. The gap ends with an operation whose
// launch call is [l0, l1]. It is split at l0:
//   [a, l0]  The host had not yet come to the launch: it loaded data, blocked in a synchronising
//            call, or prepared.
//   [l0, b]  The launch itself. If the trace proves that the operation's stream waited for an event
//            whose producer ended no earlier than a and l0, the cause is that wait.
// Without a launch call the gap is unexplained.
#pragma once

#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/steps/event_waits.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct IdleContext {
  const Trace& trace;
  const RankIndex& rank;
  const std::vector<ThreadWaits>& waits;
  const EventWaits& events;
};

// Appends pieces that tile [start, end) in order. `op` is the next operation of the device. After
// the last operation `op` is no_slice, and the main thread's rows explain the gap.
void explain_gap(const IdleContext& context, Ns start, Ns end, SliceId op,
                 std::vector<IdlePiece>& pieces);

}  // namespace stepscope
