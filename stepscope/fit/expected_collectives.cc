// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_collectives.h"

#include <algorithm>
#include <functional>
#include <map>

#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/fit/rank_places.h"

namespace stepscope {
namespace {

bool has_cost(CollectiveKind kind) {
  return kind != CollectiveKind::none && kind != CollectiveKind::unknown &&
         kind != CollectiveKind::barrier;
}

// The distance between the ranks if it is constant, as in a plan's groups.
std::optional<int> stride_of(std::span<const int> ranks) {
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != stride) return std::nullopt;
  return stride > 0 ? std::optional(stride) : std::nullopt;
}

std::optional<GroupPlacement> place_ranks(std::span<const int> ranks, CollectiveKind kind,
                                          const Network& network) {
  // Messages pass between neighbours.
  if (kind == CollectiveKind::send_recv) ranks = ranks.first(2);
  std::map<int, int> members;  // of each domain
  for (const int rank : ranks) ++members[rank / network.domain];
  if (const auto stride = stride_of(ranks)) {
    const auto regular = place(static_cast<int>(ranks.size()), *stride, network);
    if (regular && regular->domains == static_cast<int>(members.size())) return regular;
  }
  const int first = members.begin()->second;
  if (std::ranges::any_of(members, [&](const auto& m) { return m.second != first; }))
    return std::nullopt;
  return place_in_domains(static_cast<int>(members.size()), first, network);
}

bool same(const GroupPlacement& a, const GroupPlacement& b) {
  return a.size == b.size && a.members == b.members && a.domains == b.domains &&
         a.within == b.within && a.across == b.across;
}

}  // namespace

std::optional<PlacedRow> placement_of(const CollectiveRow& row, const CollectiveMatches& matches,
                                      const Network& network, std::optional<int> world_size) {
  const auto places = places_of(row, matches, network.domain, world_size);
  if (!places) return std::nullopt;
  std::optional<PlacedRow> found;
  for (const std::vector<int>& group : places->groups) {
    const auto here = place_ranks(group, row.kind, network);
    if (!here || (found && !same(found->group, *here))) return std::nullopt;
    found = {*here, places->assumed};
  }
  return found;
}

std::vector<ExpectedCollective> expected_collectives(const Collectives& collectives,
                                                     const Network& network,
                                                     std::optional<int> world_size) {
  std::vector<ExpectedCollective> result;
  for (const CollectiveRow& row : collectives.rows) {
    if (!row.bytes || row.bytes->value <= 0 || !has_cost(row.kind)) continue;
    const auto placed = placement_of(row, collectives.matches, network, world_size);
    if (!placed) continue;
    const double one = collective_time(network, row.kind, *row.bytes, placed->group).count();
    const bool split = row.split > 0 && row.transfer;
    const std::uint64_t calls = split ? row.split : row.count;
    const double measured = seconds(split ? *row.transfer : row.duration).count();
    if (one <= 0 || calls == 0 || measured <= 0) continue;
    result.push_back({.row = &row,
                      .group = placed->group,
                      .expected = one * static_cast<double>(calls),
                      .measured = measured,
                      .calls = calls,
                      .with_wait = !split,
                      .assumed = placed->assumed});
  }
  std::ranges::stable_sort(result, std::greater<>(), &ExpectedCollective::gap);
  return result;
}

}  // namespace stepscope
