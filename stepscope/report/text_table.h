// SPDX-License-Identifier: Apache-2.0
// Columns that line up, for a terminal.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct Column {
  std::string title;
  bool right = true;         // numbers; texts go left
  std::size_t longest = 60;  // longer texts are shortened in the middle
};

// Two spaces of indent, a header line, one line a row; lines are at most `width` wide where the
// widest text column can give way.
[[nodiscard]] std::string text_table(const std::vector<Column>& columns,
                                     const std::vector<std::vector<std::string>>& rows,
                                     std::size_t width);

// A bar of eighths: share of one in `width` columns.
[[nodiscard]] std::string bar(double share, std::size_t width);
// How many columns a UTF-8 text takes (one a character).
[[nodiscard]] std::size_t columns_of(std::string_view text);

}  // namespace stepscope
