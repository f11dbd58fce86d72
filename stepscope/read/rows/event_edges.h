// SPDX-License-Identifier: Apache-2.0
// Begin and end events (B, E) → complete slices.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"
#include "stepscope/read/rows/track_names.h"

namespace stepscope {

struct Edge {
  Ns time{};
  std::uint64_t byte = 0;  // of the event in the file: the order among equal times
  RowId pid;
  RowId tid;
  TrackId track{};               // of a begin
  StringId name = empty_string;  // may be empty at an end
  Category category = Category::other;
  bool begin = false;
};

// Appends the slices. Per process and thread (an end need not repeat its begin's category or
// arguments) and in time order, an end closes the innermost open begin of its
// name (so ranges may overlap without nesting); without a name, or where no open range has it, the
// innermost of all (the latter noted as end_of_other_name). An end without any begin is noted and
// dropped; what stays open ends with the last edge of its thread, noted as begin_without_end.
void pair_edges(Trace& trace, std::vector<Edge>&& edges);

}  // namespace stepscope
