// SPDX-License-Identifier: Apache-2.0
// The columns of a trace as Arrow tables. Columns of plain vectors are the trace's own memory.
#pragma once

#include <memory>
#include <string_view>

#include "stepscope/binding/arrow_stream.h"
#include "stepscope/event/trace.h"

namespace stepscope::binding {

// Tables of the traces of one rank. Instants and durations are nanoseconds (int64); names are
// dictionaries. 0 in `correlation` and `external_id`, and -1 elsewhere, means not recorded.
struct TraceTables {
  std::shared_ptr<const ArrowTable> slices;   // every complete event
  std::shared_ptr<const ArrowTable> kernels;  // kernels, copies and memsets on a device
  std::shared_ptr<const ArrowTable> tracks;   // host threads and streams; row = `track` of slices
  std::shared_ptr<const ArrowTable> collectives;
  std::shared_ptr<const ArrowTable> memory;
  std::shared_ptr<const ArrowTable> counters;
};

// The tables share `trace`.
[[nodiscard]] TraceTables tables_of(const std::shared_ptr<const Trace>& trace);

}  // namespace stepscope::binding
