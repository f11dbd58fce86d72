// SPDX-License-Identifier: Apache-2.0
// Matched and unmatched calls summed to rows; a part of analyze_collectives.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"

namespace stepscope {

// Of `job` everything but the rows must be there. By exposed time, largest first.
[[nodiscard]] std::vector<CollectiveRow> collective_rows(std::span<const RankView> views,
                                                         const Collectives& job);

[[nodiscard]] std::vector<DimensionRow> dimension_rows(std::span<const CollectiveRow> rows);

}  // namespace stepscope
