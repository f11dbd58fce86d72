// SPDX-License-Identifier: Apache-2.0
// Where a plan that somebody chose stands among those that a search may take: how many are faster.
#pragma once

#include <cstdint>
#include <limits>

#include "stepscope/cost/search/search.h"

namespace stepscope {

struct RankQuestion {
  double step = 0;  // seconds of the plan
  std::int64_t devices = 1;
  bool offload = false;  // as SearchResult::offload_searched
  // After so many evaluations the count is given up, at a place that no number of threads changes.
  std::int64_t most_evaluations = std::numeric_limits<std::int64_t>::max();
};

struct PlanRank {
  std::int64_t faster = 0;  // plans that fit and take less time
  bool complete = true;     // false: at least so many
};

// By the same bounds as the search, so that only plans whose bound is below `step` are evaluated.
// Errors: a machine without a memory size.
[[nodiscard]] Result<PlanRank> rank_plan(const Transformer& model, const Machine& machine,
                                         const Network& network, const SearchRequest& request,
                                         const RankQuestion& question);

}  // namespace stepscope
