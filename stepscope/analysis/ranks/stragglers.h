// SPDX-License-Identifier: Apache-2.0
// Ranks by their lateness at collectives, compared with ranks of the same role. The work before a
// collective shows a slow rank; the time after it does not, because all leave together. Late = time
// after the median arrival (for an even number the earlier of the middle two), if the difference
// exceeds the clocks' uncertainty.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/ranks/late_cause.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/stats/lateness/late_decision.h"

namespace stepscope {

struct StragglerStep {
  std::int64_t index = 0;  // Step::index
  Ns late{};
};

struct Straggler {
  int rank = 0;
  std::string role;
  Ns late{};                      // over all collectives and steps
  double late_share = 0;          // upper_bound / wall time of its steps
  std::uint64_t last_count = 0;   // collectives in which it arrived last of its role
  std::uint64_t collectives = 0;  // collectives in which it was compared
  double persistence = 0;         // share of the steps in which it was the latest of its role
  // Upper bound of its cost per step: `late` without the delays that an earlier collective in
  // flight already showed.
  Ns upper_bound{};
  // True if it is above the floors below, and the time by which it is later than the median of the
  // others stands out of what the steps vary by (stats/lateness/excess.h), if there are two or more
  // steps.
  bool significant = false;
  // Absent unless significant, and if nothing explains half of its lateness.
  std::optional<StragglerCause> cause;
  std::vector<StragglerStep> steps;
};

// Significant, and not because it waits for another rank.
[[nodiscard]] bool delays_others(const Straggler& s);

struct StragglerOptions {
  ParallelSizes sizes;
  LateLimits limits{};  // floors of effect size
};

// Latest first, without ranks that are never late. Empty if nothing is matched.
[[nodiscard]] std::vector<Straggler> find_stragglers(std::span<const RankView> views,
                                                     const Collectives& job,
                                                     const StragglerOptions& options = {});

}  // namespace stepscope
