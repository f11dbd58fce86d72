// SPDX-License-Identifier: Apache-2.0
// What a late rank did before it came late, and who waited for it.
#pragma once

#include <optional>
#include <span>

#include "stepscope/analysis/ranks/lateness.h"
#include "stepscope/analysis/ranks/stragglers.h"

namespace stepscope {

// `late` are arrivals of one view, largest first; `steps` is how many steps it was compared in.
// Between its previous communication and its arrival the rank had either no device work (then the
// host's activity is named) or more compute than the rank at the median (then the kernels are).
// Absent without arrivals.
[[nodiscard]] std::optional<StragglerCause> straggler_cause(std::span<const RankView> views,
                                                            const Collectives& job,
                                                            std::span<const LateArrival> late,
                                                            std::size_t steps);

}  // namespace stepscope
