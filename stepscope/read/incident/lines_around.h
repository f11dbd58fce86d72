// SPDX-License-Identifier: Apache-2.0
// The lines around one in a text, for readers of messages over several lines.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "stepscope/base/ascii.h"

namespace stepscope {

inline constexpr int joined_lines = 6;  // at most, of one message
inline constexpr std::size_t longest_event_text = 300;

// Takes the first line off `text`, without its end.
inline std::string_view one_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Takes the last line off `text`.
inline std::string_view last_line_of(std::string_view& text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view line = text.substr(begin);
  text = text.substr(0, begin);
  return line;
}

inline std::string cut_text(std::string_view text) {
  const std::string_view whole = trimmed(text);
  std::string kept(whole.substr(0, longest_event_text));
  return whole.size() > kept.size() ? kept + "…" : kept;
}

}  // namespace stepscope
