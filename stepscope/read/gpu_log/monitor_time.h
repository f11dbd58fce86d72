// SPDX-License-Identifier: Apache-2.0
// Instants as monitors of GPUs write them.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct MonitorTime {
  Ns time{};           // since 1970: of the epoch with a zone, else of the writer's calendar
  bool zoned = false;  // the text names its zone
};

// "2026/11/25 10:11:12.345", "2026-11-25T10:11:12+01:00", "20261125 10:11:12", "…Z". All of `text`
// without blanks around it. Years 1971 to 2200.
[[nodiscard]] std::optional<MonitorTime> monitor_time(std::string_view text);

// The distance of a zone from UTC: "UTC", "Z", "+01:00", "-0330", "+5", "UTC+5:30". At most 14
// hours.
[[nodiscard]] std::optional<Ns> zone_offset(std::string_view text);

}  // namespace stepscope
