// SPDX-License-Identifier: Apache-2.0
// The window of a trace file, computed by itself: a plain pass over its JSON that shares nothing
// with the reader but the inflating.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope::shared {

struct RawWindow {
  std::int64_t first_ns = 0;  // least `ts` of complete, begin and end events, base time added
  std::int64_t last_ns = 0;   // greatest `ts` + `dur` of them
  std::uint64_t rows = 0;     // of these events; none is left out, whatever its category
  std::uint64_t events = 0;   // elements of traceEvents
};

// Microseconds are read as decimal texts, so the ns are exact. Throws std::runtime_error where the
// file is not what it should be.
[[nodiscard]] RawWindow raw_window(const std::string& path);

}  // namespace stepscope::shared
