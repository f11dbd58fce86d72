// SPDX-License-Identifier: Apache-2.0
// The tables of a trace as named columns of integers, one list for the writer and the reader of
// digests. Slices' classes and the tracks' ranges are not among them: seal() gives them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/digest/integer_column.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// What values may be.
struct ColumnRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct TraceColumn {
  std::string_view table;
  std::string_view name;
  IntegerCoding coding;
  ColumnRange range;
  std::size_t width;  // bytes of a row in memory
  std::vector<std::int64_t> (*values)(const Trace& trace);
  // The table gets as many rows as there are values. REQUIRES: the values are in range.
  void (*set)(Trace& trace, std::span<const std::int64_t> values);
};

// The columns of one table stand together.
[[nodiscard]] std::span<const TraceColumn> trace_columns();

// Why the rows of a trace do not fit together, or empty. Names, tracks, details and slices that a
// row refers to exist; ends fit 64 bits.
[[nodiscard]] std::string_view broken_reference(const Trace& trace);

}  // namespace stepscope
