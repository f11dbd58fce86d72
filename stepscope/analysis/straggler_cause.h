// SPDX-License-Identifier: Apache-2.0
// What a late rank did before it came late, in a sentence with numbers.
#pragma once

#include <span>
#include <string>

#include "stepscope/analysis/lateness.h"

namespace stepscope {

// `late` are arrivals of one view, largest first; `steps` is how many steps it was compared in.
// Between its previous communication and its arrival the rank had either no device work (then the
// host's activity is named) or more compute than the rank at the median (then the kernels are).
[[nodiscard]] std::string straggler_cause(std::span<const RankView> views, const Collectives& job,
                                          std::span<const LateArrival> late, std::size_t steps);

// "1.00 s", "31.2 ms", "812 us", "40 ns".
[[nodiscard]] std::string duration_text(Ns duration);

}  // namespace stepscope
