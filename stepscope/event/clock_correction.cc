// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/clock_correction.h"

#include <cmath>

namespace stepscope {

Ns ClockCorrection::operator()(Ns t) const {
  const double since = static_cast<double>((t - at).count());
  return t - offset - Ns{std::llround(drift * since)};
}

void apply_clock(Trace& trace, const ClockCorrection& correction) {
  if (correction.is_identity()) return;
  Slices& slices = trace.slices;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Ns end = correction(slices.start[i] + slices.dur[i]);
    slices.start[i] = correction(slices.start[i]);
    slices.dur[i] = end - slices.start[i];
  }
  for (Ns& t : trace.memory.time) t = correction(t);
  for (Ns& t : trace.counters.time) t = correction(t);
}

}  // namespace stepscope
