// SPDX-License-Identifier: Apache-2.0
// Columns that line up, for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/face/text/text_options.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct Column {
  std::string title;
  bool right = true;         // numbers; texts go left
  std::size_t longest = 60;  // longer texts are shortened in the middle
  bool wraps = false;        // texts go on in the next line instead
};

// Two spaces of indent, a header line, one line a row; lines are at most `width` wide where the
// widest text columns can give way. White space in a cell becomes one
// space; a column whose cells are all empty or "-" is left out.
[[nodiscard]] std::string text_table(std::vector<Column> columns,
                                     std::vector<std::vector<std::string>> rows, std::size_t width);

// The same in as many tables as it takes for lines of `width`, one below the other. The first
// column, which names the rows, is in each.
[[nodiscard]] std::string folded_table(std::vector<Column> columns,
                                       std::vector<std::vector<std::string>> rows,
                                       std::size_t width);

// A bar of eighths: share of one in `width` columns.
[[nodiscard]] std::string bar(double share, std::size_t width);
// Words break at spaces; ends with a line break.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width);
[[nodiscard]] std::string wrapped(const Message& message, std::size_t width);  // with a full stop
// Warnings, each wrapped behind "note: " and not longer than a few lines; the JSON has the whole.
[[nodiscard]] std::string notes_text(std::span<const std::string> warnings, std::size_t width);
[[nodiscard]] std::string notes_text(const Messages& warnings, std::size_t width);
// Where more is to be seen, as a line; empty if nowhere.
[[nodiscard]] std::string details_line(const TextOptions& options);
// How many columns a UTF-8 text takes (one a character).
[[nodiscard]] std::size_t columns_of(std::string_view text);

}  // namespace stepscope
