// SPDX-License-Identifier: Apache-2.0
// Units of step times and their names.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

enum class TimeUnit : std::uint8_t { ns, us, ms, s };
[[nodiscard]] std::string_view name_of(TimeUnit unit);
[[nodiscard]] double ns_per(TimeUnit unit);
[[nodiscard]] std::optional<TimeUnit> time_unit(std::string_view name);

// Whether a number of nanoseconds can be the time of a step.
[[nodiscard]] inline bool is_step(double ns) { return std::isfinite(ns) && ns > 1e-6 && ns < 1e18; }

}  // namespace stepscope
