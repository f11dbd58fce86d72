// SPDX-License-Identifier: Apache-2.0
// The texts of the oldest pickles: decimal numbers and escaped strings, each to the end of a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// A whole number of any length as PlainTree keeps it: exact where it fits 64 bits, else the nearest
// real, which may be infinite.
struct WideInteger {
  std::int64_t whole = 0;
  std::optional<double> wide{};
};

// Decimal, perhaps with an L behind it; nullopt for anything else.
[[nodiscard]] std::optional<WideInteger> decimal_integer(std::string_view digits);
// Little-endian two's complement; no bytes are 0.
[[nodiscard]] WideInteger binary_integer(std::string_view bytes);

// What is between the quotes of STRING, Python's escapes resolved: bytes. False where quotes or an
// escape are broken.
[[nodiscard]] bool append_string(std::string_view quoted, std::string& into);
// UNICODE: \uXXXX and \UXXXXXXXX are escapes, every other byte is Latin-1; becomes UTF-8, lone
// surrogates U+FFFD. False for a broken escape.
[[nodiscard]] bool append_unicode(std::string_view raw, std::string& into);

}  // namespace stepscope
