// SPDX-License-Identifier: Apache-2.0
// Pairs begin and end events (B, E) to complete slices.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"
#include "stepscope/read/rows/track_names.h"

namespace stepscope {

struct Edge {
  Ns time{};
  std::uint64_t byte = 0;  // of the event in the file; orders equal times
  RowId pid;
  RowId tid;
  TrackId track{};               // of a begin event
  StringId name = empty_string;  // may be empty at an end event
  Category category = Category::other;
  bool begin = false;
};

// Appends the slices, per process and thread and in time order. An end need not repeat the category
// or arguments of its begin. An end closes the innermost open begin with its name, so ranges may
// overlap without nesting. Without a name, or if no open range has it, it closes the innermost of
// all (the latter is noted as end_of_other_name). An end without any begin is noted and dropped. An
// open begin ends with the last edge of its thread, noted as begin_without_end.
void pair_edges(Trace& trace, std::vector<Edge>&& edges);

}  // namespace stepscope
