// SPDX-License-Identifier: Apache-2.0
// Bounds on clocks from causality. No end of a barrier-type collective comes before any of its
// starts. No end of a broadcast or scatter comes before the root's start. The root's end of a
// reduce or gather comes after all starts. No receive ends before its send starts.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/matching/clock_fit.h"
#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/host_clock.h"

namespace stepscope {

// Bounds on offsets at fit.at, with the drift of `fit` removed; the tightest for each pair of
// clocks. For a collective of many clocks it uses only pairs with the earliest end or the latest
// start under `fit`: they imply the others. Each bound leaves a margin of fit.noise_ns.
[[nodiscard]] std::vector<ClockBound> clock_bounds(const CollectiveMatches& matches,
                                                   const HostClocks& clocks,
                                                   std::span<const RankView> views,
                                                   const ClockFit& fit);

}  // namespace stepscope
