// SPDX-License-Identifier: Apache-2.0
// What causes demand of the clocks: no end of a barrier-type collective before any of its starts,
// none of a broadcast or scatter before the root's, no root's of a reduce or gather before any, no
// end of a receive before the start of its send.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/matching/clock_fit.h"
#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/host_clock.h"

namespace stepscope {

// Bounds on offsets at fit.at, the drift of `fit` taken off; the tightest of each pair of clocks.
// Of a collective of many clocks only pairs with the earliest end or the latest start under `fit`:
// the others follow. Each leaves fit.noise_ns.
[[nodiscard]] std::vector<ClockBound> clock_bounds(const CollectiveMatches& matches,
                                                   const HostClocks& clocks,
                                                   std::span<const RankView> views,
                                                   const ClockFit& fit);

}  // namespace stepscope
