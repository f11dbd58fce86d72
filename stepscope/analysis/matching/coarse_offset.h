// SPDX-License-Identifier: Apache-2.0
// Clocks that are further apart than their calls last, or than their windows: calls of one
// collective then do not run at the same time, and only the pattern of their ends tells which
// belong together. Two captures show the same calls where, under one shift of the order, one offset
// and one drift of the clock, all ends agree much more closely than under any other shift.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/event/clock_correction.h"

namespace stepscope {

// By view: about what its clock differs from the first one's (to be refined, clock_alignment.h).
// Identities where calls already run together, where no pattern is unique (collectives at equal
// intervals, fewer than six of them), and for relative clocks. `ranks`: groups are the job's.
[[nodiscard]] std::vector<ClockCorrection> coarse_offsets(std::span<const RankView> views,
                                                          std::span<const RankCalls> ranks,
                                                          const HostClocks& clocks);

}  // namespace stepscope
