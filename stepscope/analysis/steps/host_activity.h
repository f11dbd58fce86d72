// SPDX-License-Identifier: Apache-2.0
// A short text, for people, about a host thread between two instants: the row that fills most of
// the time, or the rows around the longest part without a row.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/event/trace.h"

namespace stepscope {

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

}  // namespace stepscope
