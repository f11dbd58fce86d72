// SPDX-License-Identifier: Apache-2.0
// What a user says of the lines that step times are read from.
#pragma once

#include <optional>
#include <string>

#include "stepscope/read/log/time_unit.h"

namespace stepscope {

struct StepReading {
  StepReading() = default;
  StepReading(TimeUnit given) : unit(given) {}

  // The unit of times whose line or column names none. Absent: time stamps of lines may settle it.
  std::optional<TimeUnit> unit{};
  std::string pattern{};  // of the lines that report on a step (line_pattern.h); empty: none

  [[nodiscard]] TimeUnit assumed() const { return unit.value_or(usual_unit); }
};

}  // namespace stepscope
