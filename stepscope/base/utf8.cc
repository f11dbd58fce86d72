// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/utf8.h"

namespace stepscope {

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

bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  if (byte(1) == 0x81) return byte(2) >= 0xA6 && byte(2) <= 0xA9;
  return byte(1) == 0x80 &&
         (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE));
}

bool is_printable(std::string_view text) {
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t n = utf8_length(text, p);
    if (n == 0 || is_control(text.substr(p, n))) return false;
    p += n;
  }
  return true;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  const auto byte = [&out](std::uint32_t b) { out += static_cast<char>(b); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      byte(0xE0 | c >> 12);
    } else {
      byte(0xF0 | c >> 18);
      byte(0x80 | (c >> 12 & 0x3F));
    }
    byte(0x80 | (c >> 6 & 0x3F));
  }
  byte(0x80 | (c & 0x3F));
}

}  // namespace stepscope
