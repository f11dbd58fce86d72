// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/collective_root.h"

#include <algorithm>

namespace stepscope {

std::optional<CollectiveMember> root_of(std::span<const RankView> views,
                                        const CollectiveMatches& matches,
                                        const MatchedCollective& matched) {
  const auto members = matches.members_of(matched);
  const auto recorded = std::ranges::find_if(members, [&](CollectiveMember m) {
    const int root = matches.call(m).root;
    return root >= 0 && views[m.view].rank == root;
  });
  if (recorded != members.end()) return *recorded;
  const bool sends =
      matched.kind == CollectiveKind::broadcast || matched.kind == CollectiveKind::scatter;
  const bool unknown =
      std::ranges::all_of(members, [&](CollectiveMember m) { return matches.call(m).root < 0; });
  if (!sends || !unknown) return std::nullopt;
  const CollectiveMember last = *std::ranges::max_element(
      members, {}, [&](CollectiveMember m) { return matches.call(m).start; });
  const Ns start = matches.call(last).start;
  const bool all_wait = std::ranges::all_of(
      members, [&](CollectiveMember m) { return matches.call(m).end >= start; });
  return all_wait ? std::optional(last) : std::nullopt;
}

}  // namespace stepscope
