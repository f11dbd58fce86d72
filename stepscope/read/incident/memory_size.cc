// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/memory_size.h"

#include <array>
#include <cmath>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

struct SizeUnit {
  std::string_view name;
  double bytes;
  double binary;
};
constexpr double kib = 1024;
constexpr double mib = 1024 * kib;
constexpr double gib = 1024 * mib;
constexpr double tib = 1024 * gib;
// A name that begins with another one stands before it.
constexpr std::array<SizeUnit, 14> size_units = {{{"bytes", 1, 1},
                                                  {"KiB", kib, kib},
                                                  {"MiB", mib, mib},
                                                  {"GiB", gib, gib},
                                                  {"TiB", tib, tib},
                                                  {"kB", 1e3, kib},
                                                  {"KB", 1e3, kib},
                                                  {"MB", 1e6, mib},
                                                  {"GB", 1e9, gib},
                                                  {"TB", 1e12, tib},
                                                  {"K", kib, kib},  // of XLA
                                                  {"M", mib, mib},
                                                  {"G", gib, gib},
                                                  {"B", 1, 1}}};

}  // namespace

std::optional<Bytes> size_at_front(std::string_view text, SizeUnits units) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  const auto number = take_number<double>(text);
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const SizeUnit& unit : size_units) {
    if (!text.starts_with(unit.name)) continue;
    const double bytes = *number * (units == SizeUnits::binary ? unit.binary : unit.bytes);
    if (bytes > 1e18) return std::nullopt;
    return Bytes{static_cast<std::int64_t>(std::llround(bytes))};
  }
  return std::nullopt;
}

std::optional<Bytes> size_behind(std::string_view text, std::string_view key, SizeUnits units) {
  const auto rest = behind(text, key);
  return rest ? size_at_front(*rest, units) : std::nullopt;
}

std::optional<Bytes> size_before(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::string_view head = text.substr(0, at);
  for (int words = 0; words < 2; ++words) {
    const std::size_t blank = head.find_last_of(" (;");
    if (blank == std::string_view::npos) return size_at_front(text.substr(0, at));
    head = head.substr(0, blank);
  }
  return size_at_front(trimmed(text.substr(head.size() + 1, at - head.size() - 1)));
}

}  // namespace stepscope
