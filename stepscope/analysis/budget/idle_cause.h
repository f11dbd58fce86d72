// SPDX-License-Identifier: Apache-2.0
// The cause of a gap [a, b] in which a device had no work. The gap ends with an operation whose
// launch call is [l0, l1]. It is split at l0:
//   [a, l0]  The host had not yet come to the launch: it loaded data, blocked in a synchronising
//            call, or prepared.
//   [l0, b]  The launch itself. If the trace proves that the operation's stream waited for an event
//            whose producer ended no earlier than a and l0, the cause is that wait.
// Without a launch call the gap is unexplained.
//
// The recording cannot vouch for some gaps. They are not_recorded, and nobody's:
//   - From the first launch on whose kernel was lost, if it lies between the launches of the
//     operations before and after the gap: that kernel ran there.
//   - Between two operations of one graph launch, if longer than graph_node_gap: the host did one
//     call, and which node waited for what has no row.
//   - After the launch call of the first operation of a stream, if it takes longer than
//     first_row_delay: the stream waited for work from before the recording.
//   - After the launch call of an operation whose stream was told to wait for an event, if the
//     recording has no call that recorded an event until then.
#pragma once

#include <chrono>
#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// A kernel that is queued behind another of its stream begins soon after that ends. Of those in
// shared traces without waits between streams: V100 within 20 µs (34,000 kernels), H100 and MI300X
// within 6 µs (8,000).
inline constexpr Ns graph_node_gap = std::chrono::microseconds{20};
// The first rows of 40 streams in 24 shared traces begin at most 22 µs after their call; those of
// two more begin 1 ms and 64 ms after it, behind work that was launched before the recording.
inline constexpr Ns first_row_delay = std::chrono::microseconds{100};

// Calls that make a stream wait for an event that was recorded before the recording began: those
// before the first call that records one. Ascending.
[[nodiscard]] std::vector<Ns> waits_for_earlier_work(const Trace& trace, const RankIndex& rank);

struct IdleContext {
  const Trace& trace;
  const RankIndex& rank;
  const std::vector<ThreadWaits>& waits;
  const EventWaits& events;
  std::vector<Ns> earlier{};  // waits_for_earlier_work()
};

// Appends pieces that tile [start, end) in order. `before` and `op` are the operations of the
// device before and after the gap. After the last operation `op` is no_slice, and the main thread's
// rows explain the gap.
void explain_gap(const IdleContext& context, Ns start, Ns end, SliceId before, SliceId op,
                 std::vector<IdlePiece>& pieces);

}  // namespace stepscope
