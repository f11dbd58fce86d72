// SPDX-License-Identifier: Apache-2.0
// Wait and transfer of every matched call (DESIGN: "Collectives"). A call waits until the last
// member that it needs has arrived (collective_gates.h). A send waits for its receive and the
// reverse; a fused kernel waits for the last of its peers. Some calls are not split: broadcasts
// without a recorded root, collectives with an untraced member, and calls shorter than the error of
// their clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct CallTime {
  Ns ready{};  // when everything the call waits for had arrived; valid if `split`
  bool split = false;
  // The first end of a member, for a split barrier-like collective. It was done then on all
  // members.
  Ns first_end = Ns::max();
};

// wait = max(0, ready - start), at most the call; transfer = end - max(start, ready), at least 0.
[[nodiscard]] Ns wait_of(const CollectiveCall& call, const CallTime& time);
[[nodiscard]] Ns transfer_of(const CollectiveCall& call, const CallTime& time);

struct CollectiveTimes {
  std::vector<std::vector<CallTime>> by_view;  // parallel to CollectiveMatches::ranks[view].calls
  // Median over complete barrier-like collectives of last end - first end. These ends belong
  // together, so their difference is the clocks' error. Absent without such collectives.
  std::optional<Ns> clock_uncertainty;
};

// The median of times in ns, rounded; absent for none.
[[nodiscard]] std::optional<Ns> median_time(std::span<const std::int64_t> times);

[[nodiscard]] CollectiveTimes collective_times(std::span<const RankView> views,
                                               const CollectiveMatches& matches);

// Last end - first end; absent for kinds whose ends need not coincide.
[[nodiscard]] std::optional<Ns> end_spread(const CollectiveMatches& matches,
                                           const MatchedCollective& matched);

// The input of one rank's time budget: one span for each of its communication operations.
[[nodiscard]] CommSplit comm_split(const RankCalls& rank, std::span<const CallTime> times);

// When a message on a host thread had come. A gloo row lasts from the call to send or receive
// until the thread collects it with wait(), which may be long after the message came: the thread
// computed meanwhile, or was late itself. A message that somebody waits for takes a usual time from
// the later of its two calls: 0.1 to 0.5 ms on one host, up to 6 ms where threads lack cores (nine
// recorded pipelines and rings). One that is collected later than that had come before.
//
// gloo's messages over TCP go when both sides have called (a notice of the send, a notice of the
// receive, then the data), so neither ends before the other has begun.

// Sets CollectiveCall::end of complete messages of host threads, never later than the row ends. The
// usual time is the 90th percentile of the messages whose thread shows no operator from the later
// call until the row ends. Without 8 such messages it is the lower quartile of all, for those whose
// thread shows an operator meanwhile. Instants must be on one time axis. O(rows of the threads with
// messages).
void settle_message_ends(std::span<const RankView> views, CollectiveMatches& matches);

// Kernels that run slower while communication shares the device.

// One kernel, by name and its operator's input shapes, alone and during communication.
struct Contention {
  std::string name;
  NameClass kind = NameClass::other;
  std::string shape;        // as recorded
  Ns alone{};               // median of the runs that communication does not touch
  Ns overlapped{};          // median of the runs that communication covers for at least half
  double slowdown = 1;      // overlapped / alone
  std::uint64_t count = 0;  // number of overlapped runs
  Ns lost{};                // count × (overlapped − alone)
};

// For one device. Compares only kernels whose operator has recorded input shapes, because one
// kernel name serves tensors of any size. A kernel must have at least three runs alone, with
// similar durations (the middle 80 % within half their median), and three overlapped runs.
[[nodiscard]] std::vector<Contention> contention(const Trace& trace, const DeviceLane& lane,
                                                 std::size_t most);

}  // namespace stepscope
