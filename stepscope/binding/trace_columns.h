// SPDX-License-Identifier: Apache-2.0
// The columns of a trace as Arrow tables. Columns of plain vectors are the trace's own memory.
#pragma once

#include <memory>

#include "stepscope/binding/arrow_stream.h"
#include "stepscope/event/trace.h"

namespace stepscope::binding {

using SharedTable = std::shared_ptr<const ArrowTable>;

// The trace of one rank and the texts of its names. Instants and durations in its tables are
// nanoseconds (int64); names are dictionaries. 0 in `correlation` and `external_id`, and -1
// elsewhere, means not recorded. The tables share the trace.
struct NamedTrace {
  std::shared_ptr<const Trace> trace;
  std::shared_ptr<const ArrowColumn> names;
};
[[nodiscard]] NamedTrace named(std::shared_ptr<const Trace> trace);

[[nodiscard]] SharedTable slices_of(const NamedTrace& t);   // every complete event
[[nodiscard]] SharedTable kernels_of(const NamedTrace& t);  // kernels, copies, memsets on a device
[[nodiscard]] SharedTable tracks_of(const NamedTrace& t);   // threads, streams; `track` of a slice
[[nodiscard]] SharedTable collectives_of(const NamedTrace& t);
[[nodiscard]] SharedTable memory_of(const NamedTrace& t);
[[nodiscard]] SharedTable counters_of(const NamedTrace& t);

}  // namespace stepscope::binding
