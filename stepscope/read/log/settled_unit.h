// SPDX-License-Identifier: Apache-2.0
// The unit of times that lines name without one, by the instants of the lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "stepscope/base/quantity.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// Sums over pairs of lines that follow each other.
struct TimesByInstants {
  double between_ns = 0;    // what passed between the lines
  double of_steps = 0;      // the time of the later line, for each step since the earlier one
  double of_intervals = 0;  // the same for all these steps together
  std::size_t pairs = 0;
  bool fractions = false;  // instants have fractions of a second

  void add(Ns before, Ns now, double steps, double time);
};

enum class TimeFit : std::uint8_t {
  unknown,
  of_step,
  of_interval,  // the time is that of all steps since the line before
  too_long
};

struct SettledUnit {
  TimeFit fit = TimeFit::unknown;
  std::optional<TimeUnit> unit{};  // in which the time is that of a step
};
// `known`: the unit that the lines or the user name, which decides. `usual`: the unit of the fit
// where the instants allow none.
[[nodiscard]] SettledUnit settled_unit(const TimesByInstants& times, std::optional<TimeUnit> known,
                                       TimeUnit usual);

}  // namespace stepscope
