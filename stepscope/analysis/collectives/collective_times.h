// SPDX-License-Identifier: Apache-2.0
// Wait and transfer of every matched call (DESIGN: "Collectives"). A call waits until the last
// member that it needs has arrived (collective_gates.h). A send waits for its receive and the
// reverse; a fused kernel waits for the last of its peers. Some calls are not split: broadcasts
// without a recorded root, collectives with an untraced member, and calls shorter than the error of
// their clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/steps/comm_split.h"

namespace stepscope {

struct CallTime {
  Ns ready{};  // when everything the call waits for had arrived; valid if `split`
  bool split = false;
  // Of a split barrier-like collective: the first end of a member. It was done then on all of them.
  Ns first_end = Ns::max();
};

// wait = max(0, ready - start), at most the call; transfer = end - max(start, ready), at least 0.
[[nodiscard]] Ns wait_of(const CollectiveCall& call, const CallTime& time);
[[nodiscard]] Ns transfer_of(const CollectiveCall& call, const CallTime& time);

struct CollectiveTimes {
  std::vector<std::vector<CallTime>> by_view;  // parallel to CollectiveMatches::ranks[view].calls
  // Median over complete barrier-like collectives of last end - first end. These ends belong
  // together, so their difference is the clocks' error. Absent without such collectives.
  std::optional<Ns> clock_uncertainty;
};

// The median of times in ns, rounded; absent for none.
[[nodiscard]] std::optional<Ns> median_time(std::span<const std::int64_t> times);

[[nodiscard]] CollectiveTimes collective_times(std::span<const RankView> views,
                                               const CollectiveMatches& matches);

// Last end - first end; absent for kinds whose ends need not coincide.
[[nodiscard]] std::optional<Ns> end_spread(const CollectiveMatches& matches,
                                           const MatchedCollective& matched);

// The input of one rank's time budget: one span for each of its communication operations.
[[nodiscard]] CommSplit comm_split(const RankCalls& rank, std::span<const CallTime> times);

}  // namespace stepscope
