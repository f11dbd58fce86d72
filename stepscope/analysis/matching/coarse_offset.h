// SPDX-License-Identifier: Apache-2.0
// Offsets of clocks that are further apart than their calls last, or than their windows. Calls of
// one collective then do not run at the same time; only the pattern of their ends shows which calls
// belong together. Two captures show the same calls if, with one shift of the order and one offset
// and drift of the clock, all ends agree much more closely than with any other shift.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/event/clock_correction.h"

namespace stepscope {

// By view: the approximate difference of its clock from the first (clock_alignment.h refines it).
// It is the identity if calls already run together, if the pattern's distance contradicts the
// numbers of the steps and those are less than a quarter of a step apart, if no pattern is unique
// (collectives at equal intervals, or fewer than six), and for relative clocks. `ranks`: groups are
// the job's.
[[nodiscard]] std::vector<ClockCorrection> coarse_offsets(std::span<const RankView> views,
                                                          std::span<const RankCalls> ranks,
                                                          const HostClocks& clocks);

}  // namespace stepscope
