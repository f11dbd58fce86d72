// SPDX-License-Identifier: Apache-2.0
// The window of a trace file, computed independently: a plain pass over its JSON that shares only
// the inflating with the reader.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope::shared {

struct RawWindow {
  std::int64_t first_ns = 0;  // least `ts` of complete, begin and end events, with base time
  std::int64_t last_ns = 0;   // greatest `ts` + `dur` of these events
  std::uint64_t rows = 0;     // number of these events, of all categories
  std::uint64_t events = 0;   // elements of traceEvents
};

// Microseconds are read as decimal texts, so the ns are exact. Throws std::runtime_error if the
// file is not valid.
[[nodiscard]] RawWindow raw_window(const std::string& path);

}  // namespace stepscope::shared
