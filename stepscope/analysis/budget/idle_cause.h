// SPDX-License-Identifier: Apache-2.0
// Why a device had no work between two instants (diagnosis: a gap [a, b] before an operation whose
// launch call is [l0, l1]):
//   [a, l0]  the host had not come to launch it: it loaded data, blocked in a synchronising call,
//   or prepared [l0, b]  the launch; where the trace proves that the operation's stream waited for
//   an event of another one whose
//            producer ended no earlier than a and after l0, that wait
// Without a launch call the trace does not say why.
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

// Appends pieces that tile [start, end) in order; `op` is the next operation of the device. After
// the last one (no_slice) the main thread tells what the host did.
void explain_gap(const IdleContext& context, Ns start, Ns end, SliceId op,
                 std::vector<IdlePiece>& pieces);

}  // namespace stepscope
