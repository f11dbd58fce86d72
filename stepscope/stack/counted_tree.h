// SPDX-License-Identifier: Apache-2.0
// A call tree printed as text: rows `(k) 'frame' (samples)`, outermost first, counts inclusive, as
// tools of Meta's pystacks family show it, and slides that an optical reader made text again.
//
// There is no indentation: a row is called from the row above it, and where its count is larger
// than that from the nearest row that has as many. `total` begins a new tree; a tree of the same
// total is another excerpt of the same profile, whose equal rows are one. What a row counts beyond
// the rows shown below it is kept as hidden_frame. Prose is skipped; blanks that were underscores,
// Ox and l in numbers, and quotes are repaired; both are counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

struct CountedRow {
  std::string name;
  std::optional<std::uint64_t> count{};  // absent: the row is cut off
  bool repaired = false;
};

// None where the line is no row.
[[nodiscard]] std::optional<CountedRow> parse_counted_row(std::string_view line);

[[nodiscard]] bool is_counted_tree(std::string_view head);
[[nodiscard]] Result<Done> read_counted_tree(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
