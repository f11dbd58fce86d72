// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/analysis.h"

#include <algorithm>
#include <utility>

namespace stepscope {

void keep_names(Analysis& analysis, std::span<const RankInput> traces) {
  analysis.names.reserve(traces.size());  // the pools stay where the ranks point to
  for (const RankInput& t : traces) {
    const auto rank = std::ranges::find(analysis.job.ranks, t.rank, &RankResult::rank);
    if (rank == analysis.job.ranks.end() || rank->strings != &t.trace->strings) continue;
    analysis.names.push_back(std::move(t.trace->strings));
    rank->strings = &analysis.names.back();
  }
}

}  // namespace stepscope
