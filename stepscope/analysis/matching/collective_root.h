// SPDX-License-Identifier: Apache-2.0
// The root of a broadcast, scatter, reduce or gather: the member that sends to all or receives from
// all.
#pragma once

#include <optional>
#include <span>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/rank_view.h"

namespace stepscope {

// The recorded root. PyTorch's NCCL events do not name it; then the root of a broadcast or scatter
// is taken to be the member that starts last, if nobody ends before it starts: in a ring, every
// member waits for the one before it. Empty if somebody ends earlier, or if the root of a reduce or
// gather is unknown. O(members).
[[nodiscard]] std::optional<CollectiveMember> root_of(std::span<const RankView> views,
                                                      const CollectiveMatches& matches,
                                                      const MatchedCollective& matched);

}  // namespace stepscope
