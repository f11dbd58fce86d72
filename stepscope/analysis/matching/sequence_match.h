// SPDX-License-Identifier: Apache-2.0
// Which calls of the members of one group are one collective: by Seq where it is recorded, by the
// marks of steps, else by aligned order.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_matches.h"
#include "stepscope/analysis/matching/sequence_align.h"

namespace stepscope {

// The calls of one view on one communicator, in order.
struct CallSequence {
  std::vector<AlignItem> items;
  std::vector<std::int64_t> seq;  // of each item; -1 = not recorded
};

struct SequenceSet {
  std::uint32_t group = no_row;
  std::optional<int> group_size{};  // absent = unknown: no call is complete then
  bool message = false;             // the sends of one rank and the receives of another
  std::set<int> expected_ranks{};   // members with a trace
  std::vector<CallSequence> sequences{};
};

// Appends to matches.matched, .members and .mismatches.
void match_sequences(std::span<const RankView> views, const SequenceSet& set,
                     CollectiveMatches& matches);

}  // namespace stepscope
