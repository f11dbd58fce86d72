// SPDX-License-Identifier: Apache-2.0
// How much of each host node's time lies inside rows of one kind, which a what-if can remove.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "stepscope/analysis/replay/replay.h"
#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// The changes that remove the time of rows, or of long stretches without any.
inline constexpr std::array changes_of_rows = {Change::data_free,      Change::allocator_free,
                                               Change::collector_free, Change::profiler_free,
                                               Change::copies_free,    Change::unseen_free};

struct RowTimes {
  // Parallel to changes_of_rows: nodes with such time, ascending, and that time.
  std::array<std::vector<NodeChange>, changes_of_rows.size()> times;

  // REQUIRES: one of changes_of_rows.
  [[nodiscard]] const std::vector<NodeChange>& of(Change change) const;
};

// Covers movable host nodes; for data loading without a device also compute nodes, whose rows it
// is there. One pass over the host rows of each view, and O(host nodes log rows).
[[nodiscard]] RowTimes find_row_times(const Replay& replay, std::span<const RankView> views,
                                      unsigned threads);

}  // namespace stepscope
