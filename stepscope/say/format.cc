// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stepscope/base/utf8.h"

namespace stepscope {
namespace {

struct Unit {
  double factor;
  std::string_view name;
};

template <std::size_t N>
std::string with_unit(double value, const std::array<Unit, N>& units) {
  if (value == 0) return "0";
  for (const Unit& u : units)
    // 999.5 would print as 1000 of the smaller unit.
    if (std::abs(value) >= u.factor * 0.9995 || u.factor == units.back().factor)
      return format_digits(value / u.factor) + (u.name.empty() ? "" : " ") + std::string(u.name);
  return {};
}

}  // namespace

std::string format_signed_percent(double share) {
  return fmt::format("{:+.{}f} %", share * 100, std::fabs(share) < 0.001 ? 2 : 1);
}

std::string format_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.0995 || size == 0) return fmt::format("{:.2f}", value);
  return fmt::format("{:.2g}", value);
}

std::string format_whole(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3 + (n < 0 ? 1U : 0U); at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

std::string format_time(double ns) {
  // Times are means too: a time that rounds to no nanosecond is 0.
  if (std::abs(ns) < 0.5) return "0";
  if (std::abs(ns) < 999.5) return fmt::format("{:.0f} ns", ns);
  static constexpr std::array<Unit, 3> units = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}}};
  return with_unit(ns, units);
}

std::string format_seconds(double seconds) { return format_time(seconds * ns_per_s); }

std::string format_signed_seconds(double seconds) {
  return (seconds < 0 ? "−" : "+") + format_seconds(std::abs(seconds));
}

std::string format_bytes(Bytes bytes) { return format_bytes(static_cast<double>(bytes.value)); }

std::string format_time(Ns t) { return format_time(static_cast<double>(t.count())); }

std::string format_bytes(double bytes) {
  if (std::abs(bytes) < 999.5) return fmt::format("{:.0f} B", bytes);
  static constexpr std::array<Unit, 4> units = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
  return with_unit(bytes, units);
}

std::string format_count(double n) {
  if (std::abs(n) < 999.5) return fmt::format("{:.0f}", n);
  static constexpr std::array<Unit, 3> units = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  return with_unit(n, units);
}

std::string format_percent(double share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return fmt::format("{:.1f} %", std::abs(share) < 0.0005 ? 0.0 : share * 100);
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t n = utf8_length(text, p);
    if (n == 0 || is_control(text.substr(p, n)))
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(p, n);
    p += n == 0 ? 1 : n;
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t width) {
  std::vector<std::size_t> starts;
  for (std::size_t p = 0; p < text.size(); p += std::max<std::size_t>(utf8_length(text, p), 1))
    starts.push_back(p);
  if (starts.size() <= width) return std::string(text);
  const std::size_t head = (width - 1) * 2 / 3;
  const std::size_t tail = width - 1 - head;
  return std::string(text.substr(0, starts[head])) + "…" +
         std::string(text.substr(starts[starts.size() - tail]));
}

}  // namespace stepscope
