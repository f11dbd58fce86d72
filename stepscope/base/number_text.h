// SPDX-License-Identifier: Apache-2.0
// The numbers in a text, as std::from_chars reads them: the nearest double, in no locale, without
// blanks or '+' in front.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace stepscope {

template <class Number>
struct NumberAtFront {
  Number value{};           // 0 with an error
  std::string_view rest{};  // behind the number, even if it is out of range
  std::errc error{};        // none, invalid_argument, result_out_of_range
};

// The number that `text` begins with. A real number of base 16 has no "0x".
template <class Number>
[[nodiscard]] NumberAtFront<Number> number_at_front(std::string_view text, int base = 10) {
  const char* const end = text.data() + text.size();
  NumberAtFront<Number> front;
  std::from_chars_result read{};
  if constexpr (std::floating_point<Number>)
    read = std::from_chars(text.data(), end, front.value,
                           base == 16 ? std::chars_format::hex : std::chars_format::general);
  else
    read = std::from_chars(text.data(), end, front.value, base);
  front.rest = text.substr(static_cast<std::size_t>(read.ptr - text.data()));
  front.error = read.ec;
  return front;
}

// Removes the number from the front of `text`. Absent, with `text` as it was, if no number in the
// range of Number stands there.
template <class Number>
[[nodiscard]] std::optional<Number> take_number(std::string_view& text, int base = 10) {
  const auto front = number_at_front<Number>(text, base);
  if (front.error != std::errc{}) return std::nullopt;
  text = front.rest;
  return front.value;
}

// The same without removing it.
template <class Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text, int base = 10) {
  return take_number<Number>(text, base);
}

// The number that is the whole of `text`.
template <class Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text, int base = 10) {
  const auto number = take_number<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

}  // namespace stepscope
