// SPDX-License-Identifier: Apache-2.0
// Wait and transfer of every matched call (DESIGN: "Collectives"): a call waits until the last
// member has arrived, where every member leaves after all have come (all-reduce, all-gather,
// reduce-scatter, all-to-all, barrier). Of a broadcast or scatter only the root is waited for; of a
// reduce or gather the root waits for all and the others for the root. A send waits for its receive
// and the reverse; a fused kernel for the last of its peers. Broadcasts whose root is not recorded,
// collectives with an untraced member and calls shorter than their clocks are off are not split.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/comm_split.h"

namespace stepscope {

struct CallTime {
  Ns ready{};  // when all it waits for had arrived; meaningful where `split`
  bool split = false;
};

// wait = max(0, ready - start), at most the call; transfer = end - max(start, ready), at least 0.
[[nodiscard]] Ns wait_of(const CollectiveCall& call, const CallTime& time);
[[nodiscard]] Ns transfer_of(const CollectiveCall& call, const CallTime& time);

struct CollectiveTimes {
  std::vector<std::vector<CallTime>> by_view;  // parallel to CollectiveMatches::ranks[view].calls
  // Median over complete barrier-like collectives of last end - first end: what their ends, which
  // belong together, differ by. Absent without any.
  std::optional<Ns> clock_uncertainty;
};

[[nodiscard]] CollectiveTimes collective_times(std::span<const RankView> views,
                                               const CollectiveMatches& matches);

// Last end - first end; absent where the ends of this kind need not coincide.
[[nodiscard]] std::optional<Ns> end_spread(const CollectiveMatches& matches,
                                           const MatchedCollective& matched);

// What the time budget of one rank needs: one span for each of its communication operations.
[[nodiscard]] CommSplit comm_split(const RankCalls& rank, std::span<const CallTime> times);

}  // namespace stepscope
