// SPDX-License-Identifier: Apache-2.0
// Work of a rank that takes longer than the same pieces do at its peers, step after step: what
// tells a rank that sleeps or computes slowly from one that chance made late, even where other
// ranks are late by something else in the same steps.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/replay/peer_median.h"

namespace stepscope {

struct SteadyExcess {
  int rank = 0;
  NodeKind kind = NodeKind::host;  // host, compute or copy; a launch counts as host
  Ns mean{};                       // a step, over the peers' medians
  Ns at_best{};              // lower quartile of its steps over the lower quartile of its peers'
  std::size_t in_steps = 0;  // in which it was positive
  std::size_t steps = 0;
};

// Kinds of work whose excess a step is more than its steps vary, which may depend on one another
// (one-sided t, stats/long_run.h, 1 % shared by all ranks and kinds), or which take an eighth more
// at the rank's best than at its peers' and a twentieth of the mean step: disturbances lengthen a
// part of a rank's steps and shorten none. Of ranks with eight steps or more that have peers;
// largest first. O(nodes log steps).
[[nodiscard]] std::vector<SteadyExcess> steady_excess(const Replay& replay,
                                                      std::span<const RankView> views,
                                                      const PeerMedians& medians);

}  // namespace stepscope
