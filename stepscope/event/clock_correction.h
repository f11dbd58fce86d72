// SPDX-License-Identifier: Apache-2.0
// Converts the instants of one trace to another clock: t -> t - offset - drift (t - at).
#pragma once

#include "stepscope/base/quantity.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct ClockCorrection {
  Ns offset{};       // this clock minus the other at `at`
  double drift = 0;  // its gain on the other: 1e-6 = one microsecond a second
  Ns at{};

  // Keeps the order of instants. Two that are a nanosecond apart may become equal.
  [[nodiscard]] Ns operator()(Ns t) const;
  [[nodiscard]] bool is_identity() const { return offset.count() == 0 && drift == 0; }
};

// Converts every instant and duration of a sealed trace. Ids do not change.
void apply_clock(Trace& trace, const ClockCorrection& correction);

}  // namespace stepscope
