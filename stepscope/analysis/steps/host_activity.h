// SPDX-License-Identifier: Apache-2.0
// What a host thread did between two instants, in a few words for a person: the row that fills most
// of the time, or the rows around the longest part in which it shows none.
#pragma once

#include <string>

#include "stepscope/event/trace.h"

namespace stepscope {

struct HostActivity {
  std::string text;  // "aten::item"; "between aten::view and _AlltoAllSingle in ## forward ##"
  SliceId covering = no_slice;  // the deepest row that covers at least half, step annotations apart
};

// Rows that start before `since` are not looked at: give the start of the step, or of the trace.
// Reads the rows of [since, end) once.
[[nodiscard]] HostActivity host_activity(const Trace& trace, TrackId thread, Ns since, Ns start,
                                         Ns end);

// The outermost operator of the thread around an instant, or no_slice.
[[nodiscard]] SliceId operator_around(const Trace& trace, TrackId thread, Ns since, Ns at);

}  // namespace stepscope
