// SPDX-License-Identifier: Apache-2.0
// When each host thread loads data, blocks in a synchronising call, or shows any row at all. The
// host part of an idle gap is divided by these spans.
#pragma once

#include <algorithm>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
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
  std::vector<HostSpan> present;  // under any row
};

// By track; empty for streams.
[[nodiscard]] std::vector<ThreadWaits> host_waits(const Trace& trace, const RankIndex& rank);

// By track: when a call that copies stands beside its own copy on the device, as it does for
// pageable memory. The copy holds its host up, whether the call returns before its end or after.
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

}  // namespace stepscope
