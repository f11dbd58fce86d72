// SPDX-License-Identifier: Apache-2.0
// Clocks and fits of transfers, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/fit/transfer_fit.h"

namespace stepscope::test {

inline ClockAlignment two_hosts() {
  ClockAlignment clocks;
  clocks.applied = true;
  clocks.reason = msg::clock_halves_agree(std::vector<std::int64_t>{});
  clocks.collectives = 40;
  clocks.spread = Ns{250'000};
  clocks.spread_aligned = Ns{2'000};
  clocks.hosts.push_back(
      {.host = "a", .ranks = {0, 1}, .offset = Ns{0}, .drift_ppm = 0, .uncertainty = Ns{0}});
  clocks.hosts.push_back({.host = "b",
                          .ranks = {2, 3},
                          .offset = Ns{-250'000},
                          .drift_ppm = 12.5,
                          .uncertainty = Ns{1'200}});
  return clocks;
}

inline TransferFit fit_of_sizes(std::initializer_list<double> sizes) {
  std::vector<SizedTime> calls;
  for (const double size : sizes)
    for (int c = 0; c < 4; ++c) calls.push_back({size, 20e-6 + size / 100e9});
  return {.kind = CollectiveKind::all_reduce,
          .group_size = 8,
          .placement = HostPlacement::several_hosts,
          .answer = fit_alpha_beta(calls),
          .typical = typical_times(calls)};
}

}  // namespace stepscope::test
