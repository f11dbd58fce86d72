// SPDX-License-Identifier: Apache-2.0
// How the instants of one trace become those of another clock: t -> t - offset - drift (t - at).
#pragma once

#include "stepscope/base/quantity.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct ClockCorrection {
  Ns offset{};       // what this clock is ahead of the other at `at`
  double drift = 0;  // what it gains on the other: 1e-6 = one microsecond a second
  Ns at{};

  // Keeps the order of instants; those a nanosecond apart may become one.
  [[nodiscard]] Ns operator()(Ns t) const;
  [[nodiscard]] bool is_identity() const { return offset.count() == 0 && drift == 0; }
};

// Every instant of a sealed trace, durations with them. Ids stay.
void apply_clock(Trace& trace, const ClockCorrection& correction);

}  // namespace stepscope
