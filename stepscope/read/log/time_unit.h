// SPDX-License-Identifier: Apache-2.0
// Units of step times and their names.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

enum class TimeUnit : std::uint8_t { ns, us, ms, s };
inline constexpr TimeUnit usual_unit = TimeUnit::ms;  // where nothing names another
[[nodiscard]] std::string_view name_of(TimeUnit unit);
[[nodiscard]] double ns_per(TimeUnit unit);
[[nodiscard]] std::optional<TimeUnit> time_unit(std::string_view name);
// The letters that a text begins with; bytes beyond ASCII are letters.
[[nodiscard]] std::string_view letters_of(std::string_view text);
// The unit behind a number: "12 ms", "1.2s/it". A rate ("tok/s") begins with another word.
[[nodiscard]] std::optional<TimeUnit> unit_behind(std::string_view rest);

// Whether a number of nanoseconds can be the time of a step.
[[nodiscard]] inline bool is_step(double ns) { return std::isfinite(ns) && ns > 1e-6 && ns < 1e18; }

}  // namespace stepscope
