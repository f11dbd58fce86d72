// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/json_text.h"

#include <array>
#include <charconv>

#include "stepscope/base/utf8.h"

namespace stepscope {

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
