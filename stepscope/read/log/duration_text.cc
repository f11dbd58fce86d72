// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/duration_text.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

struct NamedSeconds {
  std::string_view name;
  double seconds;
};
constexpr std::array<NamedSeconds, 8> units = {{{"us", 1e-6},
                                                {"ms", 1e-3},
                                                {"s", 1},
                                                {"m", 60},
                                                {"h", 3600},
                                                {"d", 86400},
                                                {"day", 86400},
                                                {"days", 86400}}};

// Takes ":14:24" or ":24" behind the first number.
std::optional<double> take_clock(std::string_view& text, double first) {
  double seconds = first;
  for (int parts = 1; text.starts_with(':'); ++parts) {
    text.remove_prefix(1);
    const auto next = take_number<double>(text);
    if (!next || !(*next >= 0 && *next < 60) || parts == 3) return std::nullopt;
    seconds = seconds * 60 + *next;
  }
  return seconds;
}

std::optional<double> take_unit(std::string_view& text) {
  text = trimmed(text);
  const std::string_view name = letters_of(text);
  const auto* const unit = std::ranges::find(units, name, &NamedSeconds::name);
  if (unit == units.end()) return std::nullopt;
  text.remove_prefix(name.size());
  return unit->seconds;
}

}  // namespace

std::optional<double> seconds_of_duration(std::string_view text) {
  constexpr double most = 1e12;
  double seconds = 0;
  bool any = false;
  for (text = trimmed(text); !text.empty(); any = true) {
    const auto number = take_number<double>(text);
    if (!number || !(*number >= 0 && *number <= most)) return std::nullopt;
    if (text.starts_with(':')) {
      const auto clock = take_clock(text, *number);
      if (!clock) return std::nullopt;
      seconds += *clock;
    } else {
      const auto unit = take_unit(text);
      if (!unit) return std::nullopt;
      seconds += *number * *unit;
    }
    if (text.starts_with(',')) text.remove_prefix(1);
    text = trimmed(text);
  }
  return any ? std::optional(seconds) : std::nullopt;
}

}  // namespace stepscope
