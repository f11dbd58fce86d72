// SPDX-License-Identifier: Apache-2.0
// What a user says of the lines that step times are read from.
#pragma once

#include <string>

#include "stepscope/read/log/time_unit.h"

namespace stepscope {

struct StepReading {
  StepReading(TimeUnit assumed = TimeUnit::ms) : unit(assumed) {}

  TimeUnit unit;          // of times whose line or column names none
  std::string pattern{};  // of the lines that report on a step (line_pattern.h); empty: none
};

}  // namespace stepscope
