// SPDX-License-Identifier: Apache-2.0
// Quantities for people: three digits and the unit that fits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

[[nodiscard]] std::string format_time(double ns);  // "412 ms", "1.03 s", "17.2 µs", "0"
[[nodiscard]] std::string format_time(Ns t);
[[nodiscard]] std::string format_seconds(double seconds);         // as format_time
[[nodiscard]] std::string format_signed_seconds(double seconds);  // "+12.1 ms", "−3 s"
[[nodiscard]] std::string format_bytes(double bytes);             // GB = 1e9
[[nodiscard]] std::string format_bytes(Bytes bytes);
[[nodiscard]] std::string format_count(double n);        // "412", "28.0 k", "1.20 M"
[[nodiscard]] std::string format_whole(std::int64_t n);  // "1,234,567": counts to the last one
// The share, from 0 to 1; 0 where the whole is 0.
[[nodiscard]] constexpr double share_or_zero(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}
[[nodiscard]] constexpr double share_of_bytes(Bytes part, Bytes whole) {
  return share_or_zero(static_cast<double>(part.value), static_cast<double>(whole.value));
}
[[nodiscard]] constexpr double share_of_time(Ns part, Ns whole) {
  return share_or_zero(static_cast<double>(part.count()), static_cast<double>(whole.count()));
}
[[nodiscard]] std::string format_percent(double share);  // of one: "35.2 %", "< 0.1 %"
// "+1.2 %", "-0.05 %": two places below a thousandth.
[[nodiscard]] std::string format_signed_percent(double share);
// Three significant digits: "1.23", "45.6", "789", "1230"; two below 0.1: "0.076".
[[nodiscard]] std::string format_digits(double value);
// At most `width` columns; the middle of a longer text becomes "…". Counts UTF-8 characters.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);
// Control characters and broken UTF-8 of names from a trace made harmless for a terminal.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace stepscope
