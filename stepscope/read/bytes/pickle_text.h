// SPDX-License-Identifier: Apache-2.0
// The text values of the oldest pickles: decimal numbers and escaped strings, each to the end of a
// line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

// A whole number of any length as PlainTree stores it: exact if it fits 64 bits, else the nearest
// real, which may be infinite.
struct WideInteger {
  std::int64_t whole = 0;
  std::optional<double> wide{};
};

// Decimal, with an optional L at the end; nullopt for anything else.
[[nodiscard]] std::optional<WideInteger> decimal_integer(std::string_view digits);
// Little-endian two's complement; zero bytes mean 0.
[[nodiscard]] WideInteger binary_integer(std::string_view bytes);

// The text between the quotes of STRING, with Python's escapes decoded to bytes. False if quotes or
// an escape are invalid.
[[nodiscard]] bool append_string(std::string_view quoted, std::string& into);
// UNICODE: \uXXXX and \UXXXXXXXX are escapes, every other byte is Latin-1. Converts to UTF-8, lone
// surrogates to U+FFFD. False for an invalid escape.
[[nodiscard]] bool append_unicode(std::string_view raw, std::string& into);

}  // namespace stepscope
