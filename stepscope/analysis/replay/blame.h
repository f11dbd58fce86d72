// SPDX-License-Identifier: Apache-2.0
// Who is to blame for waiting in collectives, and for what. The waiting of all members of a matched
// collective is charged to its last arriver. From its arrival its path is walked back, through
// earlier collectives to those that it waited for itself, until a collective that all members took
// part in: since then they were even. What on that path took longer than on the other ranks of the
// same role (peer_median.h) gets the waiting, in proportion to the excess; where nothing did, the
// schedule gives the rank more to do, and its longest work gets it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/path_share.h"
#include "stepscope/analysis/replay/peer_median.h"

namespace stepscope {

struct Blame {
  int rank = 0;            // whose work it was
  std::string_view label;  // label_of, "unexplained" for a delay
  std::string name;        // of the kernel or the call that has most of it
  bool excess = false;     // more than on its peers; else the schedule's
  Ns wait{};               // Σ over waiting ranks and collectives
  std::uint64_t collectives = 0;
  Ns worst_at{};  // where most was lost: the arrival, on the trace's clock
  Ns worst{};
};

// Largest first. The sum of `wait` is the waiting of all joined collectives.
[[nodiscard]] std::vector<Blame> find_blame(const Replay& replay, std::span<const RankView> views,
                                            const Collectives& job, const PeerMedians& medians);

}  // namespace stepscope
