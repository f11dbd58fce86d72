// SPDX-License-Identifier: Apache-2.0
// A call tree printed as text: rows `(k) 'frame' (samples)`, outermost first, with inclusive
// counts. Tools of Meta's pystacks family print it, and optical readers extract it from slides.
//
// There is no indentation. A row is called from the row above it; if its count is larger, from the
// nearest row with at least that count. `total` begins a new tree. A tree with the same total is
// another excerpt of the same profile, and equal rows are merged. The part of a row's count that is
// beyond the rows below it becomes hidden_frame. If its callees' rows are cut off, all of it
// becomes cut_frame. Prose is skipped. Blanks in place of underscores, Ox and l in numbers, and
// quotes are repaired. Both are counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

struct CountedRow {
  std::string name;
  std::optional<std::uint64_t> count{};  // absent: the row is cut off
  bool repaired = false;
};

// Absent if the line is not a row.
[[nodiscard]] std::optional<CountedRow> parse_counted_row(std::string_view line);

}  // namespace stepscope
