// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/json_text.h"

#include <array>
#include <charconv>

namespace stepscope {
namespace {

// The length of the valid UTF-8 character at p, 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t p) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[i]));
  };
  const unsigned lead = byte(p);
  if (lead < 0x80) return 1;
  const std::size_t n = lead >= 0xF0 && lead < 0xF5   ? 4
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                                                      : 0;
  if (n == 0 || p + n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(p + i) & 0xC0) != 0x80) return 0;
  const unsigned next = byte(p + 1);
  const bool overlong_or_surrogate =
      (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next >= 0xA0) ||
      (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next >= 0x90);
  return overlong_or_surrogate ? 0 : n;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t p = 0; p < text.size();) {
    const char c = text[p];
    const std::size_t n = utf8_length(text, p);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view hex = "0123456789abcdef";
      out += "\\u00";
      out += hex[static_cast<unsigned char>(c) >> 4];
      out += hex[static_cast<unsigned char>(c) & 15];
    } else if (n == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(p, n);
    }
    p += n == 0 ? 1 : n;
  }
  out += '"';
}

void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void append_microseconds(std::string& out, Ns t) {
  std::int64_t ns = t.count();
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  append_integer(out, ns / 1000);
  const std::int64_t fraction = ns % 1000;
  out += '.';
  out += static_cast<char>('0' + fraction / 100);
  out += static_cast<char>('0' + fraction / 10 % 10);
  out += static_cast<char>('0' + fraction % 10);
}

}  // namespace stepscope
