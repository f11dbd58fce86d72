// SPDX-License-Identifier: Apache-2.0
// Classes and trimming of ASCII characters, independent of the locale.
#pragma once

#include <initializer_list>
#include <string_view>

namespace stepscope {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
// True for what names in programs consist of.
[[nodiscard]] constexpr bool is_word_letter(char c) { return is_alphanumeric(c) || c == '_'; }
[[nodiscard]] constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
// True for blanks and line ends.
[[nodiscard]] constexpr bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }

[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <class Parts = std::initializer_list<std::string_view>>
[[nodiscard]] constexpr bool contains_any(std::string_view text, const Parts& parts) {
  for (const std::string_view part : parts)
    if (contains(text, part)) return true;
  return false;
}

// `text` without blanks and line ends at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace stepscope
