// SPDX-License-Identifier: Apache-2.0
// When each host thread loads data, blocks in a synchronising call, or shows any row at all. The
// host part of an idle gap is divided by these spans.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct HostSpan {
  Ns start{};
  Ns end{};
  SliceId row = no_slice;  // the (first) row behind the span
};

// Each list is disjoint and in time order.
struct ThreadWaits {
  std::vector<HostSpan> data;     // inside a data loader
  std::vector<HostSpan> sync;     // inside a call that waits for the device
  std::vector<HostSpan> results;  // inside a function that waits for results (waits_for_results)
  std::vector<HostSpan> present;  // under any row
};

// Whether a Python function of JAX waits until results are computed: by the device, by threads of
// the runtime that have yet to launch the work, or by other hosts.
[[nodiscard]] bool waits_for_results(std::string_view name);

// By track; empty for streams.
[[nodiscard]] std::vector<ThreadWaits> host_waits(const Trace& trace, const RankIndex& rank);

// By track: when a call that copies overlaps its own copy on the device, as it does for pageable
// memory. The copy holds its host up, whether the call returns before its end or after.
[[nodiscard]] std::vector<std::vector<HostSpan>> calls_during_copies(const Trace& trace,
                                                                     const RankIndex& rank);

// Adds a row whose start is not before earlier rows. Overlapping rows become one span.
void extend(std::vector<HostSpan>& spans, Ns start, Ns end, SliceId row);

// Tiles [from, to) in order. Calls inside(start, end, row) on spans and outside(start, end)
// elsewhere.
template <class Inside, class Outside>
void cut(const std::vector<HostSpan>& spans, Ns from, Ns to, Inside&& inside, Outside&& outside) {
  auto at = std::partition_point(spans.begin(), spans.end(),
                                 [&](const HostSpan& span) { return span.end <= from; });
  while (from < to && at != spans.end() && at->start < to) {
    if (at->start > from) outside(from, at->start);
    const Ns start = std::max(from, at->start);
    from = std::min(to, at->end);
    inside(start, from, at->row);
    ++at;
  }
  if (from < to) outside(from, to);
}

// Stretches of the steps that no row of the host shows: no thread of the process shows an operator,
// a call, a Python function, a data loader, or an annotation without rows inside it. Python ran
// there (logging, its garbage collector, a checkpoint), or it slept.

// Between two operators Python takes microseconds; what is shorter is not listed.
inline constexpr Ns least_unseen = std::chrono::milliseconds{1};

// Stretches of at least least_unseen from the start of the first step's annotation to the end of
// the last, ascending and disjoint. HostSpan::row is the last row to end before, or no_slice. Empty
// if no thread shows a row there. O(host rows log host rows).
[[nodiscard]] std::vector<HostSpan> unseen_host(const RankView& view);

struct UnseenWork {
  Ns of_step{};  // mean over the steps of the views with such work
  Ns least{};    // mean of the view with least; zero if a view has no such work
  // "between a and b", if half or more lies between such rows in the view with most; else empty.
  std::string between;
  std::vector<int> ranks;  // of these views, ascending; empty: all
};

// What unseen_host lists, of views where at least three in four steps have some. Absent if these
// are fewer than half of the views: then they differ from their peers.
[[nodiscard]] std::optional<UnseenWork> unseen_work(std::span<const RankView> views);

// A short text, for people, about a host thread between two instants: the row that fills most of
// the time, or the rows around the longest part without a row.

// Behind the name of a call of at least 1 ms that is the first of its name on the thread.
inline constexpr std::string_view first_call = " (its first call)";

struct HostActivity {
  std::string text;  // "aten::item"; "between aten::view and _AlltoAllSingle in ## forward ##"
  SliceId covering = no_slice;  // deepest row over at least half; no step annotations
};

// Ignores rows that start before `since`: pass the start of the step or of the trace. Reads the
// rows of [since, end) once.
[[nodiscard]] HostActivity host_activity(const Trace& trace, TrackId thread, Ns since, Ns start,
                                         Ns end);

// The outermost operator of the thread around an instant, or no_slice.
[[nodiscard]] SliceId operator_around(const Trace& trace, TrackId thread, Ns since, Ns at);

// Which device operation another one waited for, where the trace shows it. "Stream Wait Event" rows
// name the waiting stream, the awaited stream and the call that recorded the event. Most traces
// lack these rows and have only the calls of the host (called_waits).

// The streams of one rank in launch order, and the waits on them.
struct EventWaits {
  using StreamKey = std::pair<int, std::int64_t>;  // device, stream
  struct Launched {
    Ns launched{};
    SliceId op = no_slice;
  };
  struct Wait {
    Ns called{};    // when the host asked the stream to wait
    StreamKey on;   // the awaited stream
    Ns recorded{};  // everything launched there until then must end first
  };
  std::map<StreamKey, std::vector<Launched>> streams;  // sorted by launch
  std::map<StreamKey, std::vector<Wait>> waits;        // sorted by call
};

// Empty if the trace has no such rows.
[[nodiscard]] EventWaits event_waits(const Trace& trace, const RankIndex& rank);

// The operation of another stream that ended last among the operations `op` waited for, or
// no_slice. Counts the waits between the launch of the previous operation on the stream and the
// launch of `op`.
[[nodiscard]] SliceId producer_of(const EventWaits& events, const Trace& trace,
                                  const RankIndex& rank, SliceId op);

// A kernel that waits for communication because its host called a stream-wait between both
// launches: work.wait() of c10d.
struct CalledWait {
  SliceId communication = no_slice;
  SliceId kernel = no_slice;  // launched next, no communication
};
// The call counts if communication was the last launch of the process before it, and if it is not
// within the operator that launched the communication. O(rows).
[[nodiscard]] std::vector<CalledWait> called_waits(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
