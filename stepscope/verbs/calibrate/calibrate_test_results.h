// SPDX-License-Identifier: Apache-2.0
// A measured machine, for tests.
#pragma once

#include <cstdint>

#include "stepscope/fit/calibration.h"

namespace stepscope::test {

// A machine of two ranks, whose all-reduce takes 20 us + size / 100 GB/s.
inline CalibrateResult calibrated() {
  CalibrateResult r;
  r.measured.name = r.made.machine.name = "box";
  r.measured.ranks = 2;
  r.measured.peaks[index(Dtype::fp32)] = FlopRate{200e9};
  r.made.machine.peak_rates = r.measured.peaks;
  r.measured.memory_rate = ByteRate{10e9};
  r.made.machine.memory_rate = r.measured.memory_rate;
  r.made.machine.sources = {"a test"};
  r.made.compute_error = 0.05;
  r.made.link_error = 0.1;
  for (std::int64_t bytes = 1024; bytes <= 1 << 24; bytes *= 4) {
    CollectiveTiming t{.group = {}, .bytes = Bytes{bytes}, .time = {}};
    t.group.size = t.group.members = 2;
    t.time = Seconds{20e-6 + static_cast<double>(bytes) / 100e9};
    t.spread = TimingSpread{.low = t.time * 0.9, .high = t.time * 1.2, .calls = 7};
    r.measured.collectives.push_back(t);
  }
  return r;
}

}  // namespace stepscope::test
