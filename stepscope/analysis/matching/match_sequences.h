// SPDX-License-Identifier: Apache-2.0
// One group's calls on several ranks → matched collectives and mismatches.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/analysis/matching/sequence_align.h"

namespace stepscope {

// One view's calls on one communicator, in order.
struct CallSequence {
  std::vector<AlignItem> items;
  std::vector<std::int64_t> seq;  // of each; -1 = not recorded
};

struct SequenceSet {
  std::uint32_t group = no_row;
  std::optional<int> group_size{};  // absent = not known: nothing can be called complete
  bool message = false;             // the sends of one rank and the receives of another
  std::set<int> expected_ranks{};   // members that are traced
  std::vector<CallSequence> sequences{};
};

// Appends to matches.matched, .members and .mismatches.
void match_sequences(std::span<const RankView> views, const SequenceSet& set,
                     CollectiveMatches& matches);

// Sequences without a group, partitioned: within one part, at most one of each view, nine calls in
// ten agree with the part's longest and run at the same time.
[[nodiscard]] std::vector<std::vector<CallSequence>> cluster_sequences(
    std::vector<CallSequence> sequences);

}  // namespace stepscope
