// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bytes/pickle_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/base/utf8.h"

namespace stepscope {
namespace {

// Decodes one escape behind a backslash. Returns the number of characters of `rest` used, 0 if
// invalid.
std::size_t append_escape(std::string_view rest, std::string& into) {
  constexpr std::array<std::pair<char, char>, 10> simple = {{{'\\', '\\'},
                                                             {'\'', '\''},
                                                             {'"', '"'},
                                                             {'a', '\a'},
                                                             {'b', '\b'},
                                                             {'f', '\f'},
                                                             {'n', '\n'},
                                                             {'r', '\r'},
                                                             {'t', '\t'},
                                                             {'v', '\v'}}};
  const auto* const one = std::ranges::find(simple, rest.front(), &std::pair<char, char>::first);
  if (one != simple.end()) {
    into += one->second;
    return 1;
  }
  if (rest.front() == 'x') {
    const auto value =
        rest.size() >= 3 ? number_of<std::uint32_t>(rest.substr(1, 2), 16) : std::nullopt;
    if (!value) return 0;
    into += static_cast<char>(*value);
    return 3;
  }
  std::size_t digits = 0;
  while (digits < 3 && digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '7') ++digits;
  if (digits == 0) {  // not an escape: Python keeps the backslash
    into += '\\';
    into += rest.front();
    return 1;
  }
  into += static_cast<char>(*number_of<std::uint32_t>(rest.substr(0, digits), 8));
  return digits;
}

}  // namespace

std::optional<WideInteger> decimal_integer(std::string_view digits) {
  if (digits.ends_with('L')) digits.remove_suffix(1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const bool minus = digits.starts_with('-');
  const std::string_view bare = digits.substr(minus ? 1 : 0);
  const bool plain =
      !bare.empty() && std::ranges::all_of(bare, [](char c) { return c >= '0' && c <= '9'; });
  if (!plain) return std::nullopt;
  WideInteger value;
  if (const auto whole = leading_number<decltype(value.whole)>(digits)) {
    value.whole = *whole;
    return value;
  }
  const double wide = leading_number<double>(digits).value_or(HUGE_VAL);
  value.wide = minus ? -std::abs(wide) : wide;
  return value;
}

WideInteger binary_integer(std::string_view bytes) {
  WideInteger value;
  if (bytes.empty()) return value;
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]));
  };
  const bool negative = (byte(bytes.size() - 1) & 0x80U) != 0;
  // Bytes that only repeat the sign are dropped.
  const std::uint64_t fill = negative ? 0xFFU : 0U;
  std::size_t size = bytes.size();
  while (size > 8 && byte(size - 1) == fill) --size;
  if (size <= 8 && (size < 8 || bytes.size() == size || ((byte(7) & 0x80U) != 0) == negative)) {
    std::uint64_t bits = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i-- > 0;) bits = bits << 8U | byte(i);
    value.whole = static_cast<std::int64_t>(bits);
    return value;
  }
  std::string hex;  // digits of the magnitude; a hexadecimal number is rounded once
  constexpr std::string_view digits = "0123456789abcdef";
  std::uint64_t carry = negative ? 1 : 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t digit = (negative ? byte(i) ^ 0xFFU : byte(i)) + carry;
    carry = digit >> 8U;
    hex += digits[digit & 15U];
    hex += digits[digit >> 4U & 15U];
  }
  if (carry != 0) hex += '1';
  std::ranges::reverse(hex);
  const double magnitude = leading_number<double>(hex, 16).value_or(HUGE_VAL);
  value.wide = negative ? -magnitude : magnitude;
  return value;
}

bool append_string(std::string_view quoted, std::string& into) {
  if (quoted.size() < 2 || quoted.front() != quoted.back() ||
      (quoted.front() != '\'' && quoted.front() != '"'))
    return false;
  std::string_view rest = quoted.substr(1, quoted.size() - 2);
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    into += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (rest.empty()) return false;
    const std::size_t taken = append_escape(rest, into);
    if (taken == 0) return false;
    rest.remove_prefix(taken);
  }
  return true;
}

bool append_unicode(std::string_view raw, std::string& into) {
  std::uint32_t high = 0;  // the first half of a surrogate pair
  const auto put = [&](std::uint32_t c) {
    const bool low = c >= 0xDC00 && c < 0xE000;
    if (high != 0 && low) {
      append_utf8(into, 0x10000 + ((high - 0xD800) << 10U) + (c - 0xDC00));
      high = 0;
      return;
    }
    if (high != 0) append_utf8(into, high);
    high = c >= 0xD800 && c < 0xDC00 ? c : 0;
    if (high == 0) append_utf8(into, c);
  };
  for (std::size_t i = 0; i < raw.size();) {
    if (raw.substr(i, 2) == "\\\\") {  // not an escape, and neither is the second backslash
      put('\\');
      put('\\');
      i += 2;
      continue;
    }
    const bool escape = raw[i] == '\\' && i + 1 < raw.size();
    const std::size_t digits = !escape ? 0 : raw[i + 1] == 'u' ? 4 : raw[i + 1] == 'U' ? 8 : 0;
    if (digits == 0) {
      put(static_cast<unsigned char>(raw[i++]));
      continue;
    }
    const std::string_view number = raw.substr(i + 2, digits);
    const auto value =
        number.size() == digits ? number_of<std::uint32_t>(number, 16) : std::nullopt;
    if (!value || *value > 0x10FFFF) return false;
    put(*value);
    i += 2 + digits;
  }
  if (high != 0) append_utf8(into, high);
  return true;
}

}  // namespace stepscope
