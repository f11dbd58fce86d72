// SPDX-License-Identifier: Apache-2.0
// Durations as programs print them.
#pragma once

#include <optional>
#include <string_view>

namespace stepscope {

// "01:23", "1:02:03", "1 day, 5:14:24" (Python's timedelta), "1d 2h 3m 4s", "1m29s", "613ms" in
// seconds. Absent for another text, and for a number without a unit.
[[nodiscard]] std::optional<double> seconds_of_duration(std::string_view text);

}  // namespace stepscope
