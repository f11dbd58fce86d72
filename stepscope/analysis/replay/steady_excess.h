// SPDX-License-Identifier: Apache-2.0
// Work of a rank that takes longer than the same pieces at its peers in step after step. It
// separates a rank that sleeps or computes slowly from a rank that is late by chance, even if other
// ranks are late for other reasons in the same steps.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/replay/peer_median.h"

namespace stepscope {

struct SteadyExcess {
  int rank = 0;
  NodeKind kind = NodeKind::host;  // host, compute or copy; a launch counts as host
  Ns mean{};                       // per step, over the peers' medians
  Ns at_best{};              // lower quartile of its steps over the lower quartile of its peers'
  std::size_t in_steps = 0;  // steps in which it was positive
  std::size_t steps = 0;
};

// Kinds of work that meet one of two conditions. (1) The mean excess per step is significant given
// the variation of the steps, which may depend on one another (one-sided t, stats/long_run.h, 1 %
// shared by all ranks and kinds). (2) At the rank's best they take an eighth more than at its
// peers' best, and that is a twentieth of the mean step: disturbances lengthen some steps and
// shorten none. Covers ranks with peers and at least eight steps. Largest first. O(nodes log
// steps).
[[nodiscard]] std::vector<SteadyExcess> steady_excess(const Replay& replay,
                                                      std::span<const RankView> views,
                                                      const PeerMedians& medians);

}  // namespace stepscope
