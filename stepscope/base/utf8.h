// SPDX-License-Identifier: Apache-2.0
// UTF-8 as the Unicode standard defines it (table 3-7: no overlong forms, no surrogates, nothing
// above U+10FFFF), one character at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

// The length in bytes, 1 to 4, of the character at byte `p` (< text.size()). 0 if no character
// begins there; then step on by one byte.
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t p);

// Whether `character`, the bytes of one, controls a terminal, breaks lines or turns the direction
// of reading: below U+0020, U+007F to U+009F, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
[[nodiscard]] bool is_control(std::string_view character);

// Whether every byte belongs to a character, and no character is a control.
[[nodiscard]] bool is_printable(std::string_view text);

// Appends the character, or U+FFFD if `c` is not one (a lone surrogate, or above U+10FFFF).
void append_utf8(std::string& out, std::uint32_t c);

}  // namespace stepscope
