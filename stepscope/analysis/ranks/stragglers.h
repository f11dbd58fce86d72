// SPDX-License-Identifier: Apache-2.0
// Ranks by how late they arrive at collectives, among ranks of the same role: the work before a
// collective tells a slow rank, the time after it does not (all leave together). Late = time behind
// the median arrival (of an even number the earlier of the middle two), where the difference is
// more than the clocks' uncertainty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/ranks/straggler_cause.h"

namespace stepscope {

struct StragglerStep {
  std::int64_t index = 0;  // Step::index
  Ns late{};
};

struct Straggler {
  int rank = 0;
  std::string role;
  Ns late{};                      // over all collectives and steps
  double late_share = 0;          // upper_bound over the wall time of its steps
  std::uint64_t last_count = 0;   // collectives in which it came last of its role
  std::uint64_t collectives = 0;  // in which it was compared
  double persistence = 0;         // share of the steps in which it was the latest of its role
  // At most what it costs a step: `late` without what an earlier collective in flight showed
  // already.
  Ns upper_bound{};
  // Above the floors below, persistent (stats/persistence.h), and of eight steps or more later than
  // the median of the others by more than chance makes (one-sided t, stats/long_run.h; 1 % that one
  // of all ranks compared is called late and is not).
  bool significant = false;
  std::optional<StragglerCause> cause;  // absent unless significant
  std::vector<StragglerStep> steps;
};

struct StragglerOptions {
  ParallelSizes sizes;
  // Effect-size floors: smaller lateness is what noise and rank-to-rank variation make.
  double least_share = 0.03;                     // of the step
  Ns least_late = std::chrono::milliseconds{1};  // a step
};

// Latest first; ranks that are never late are left out. Empty where nothing is matched.
[[nodiscard]] std::vector<Straggler> find_stragglers(std::span<const RankView> views,
                                                     const Collectives& job,
                                                     const StragglerOptions& options = {});

}  // namespace stepscope
