// SPDX-License-Identifier: Apache-2.0
// Finds the cause of waiting in collectives. The waiting of all members of a matched collective is
// charged to the last member to arrive. Its path is walked back from its arrival, through earlier
// collectives to the members it waited for itself, until a collective with all members: since then
// they were even. Work on that path that took longer than on the other ranks of the same role
// (peer_median.h) gets the waiting, in proportion to the excess. If no work took longer, the
// schedule gives the rank more to do, and its longest work gets the waiting.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/analysis/replay/replay.h"

namespace stepscope {

struct Blame {
  int rank = 0;         // rank of the work
  std::string label;    // label_of; "unexplained" for a delay
  std::string name;     // of the kernel or call with most of it
  bool excess = false;  // more than on its peers; else due to the schedule
  Ns wait{};            // Σ over waiting ranks and collectives
  std::uint64_t collectives = 0;
  Ns worst_at{};  // arrival with the largest loss, on the trace's clock
  Ns worst{};
};

// Largest first. The sum of `wait` is the total waiting of the joined collectives that work came
// before, but for rounding. O(nodes + joins × groups of ranks).
[[nodiscard]] std::vector<Blame> find_blame(const Replay& replay, std::span<const RankView> views,
                                            const Collectives& job, const PeerMedians& medians);

}  // namespace stepscope
