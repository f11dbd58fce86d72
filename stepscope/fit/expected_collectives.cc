// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_collectives.h"

#include <algorithm>
#include <functional>
#include <map>

#include "stepscope/cost/time/collective_cost.h"

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

std::optional<GroupPlacement> placement_of(const CollectiveRow& row,
                                           std::span<const CommGroup> groups,
                                           const Network& network, std::optional<int> world_size) {
  std::optional<GroupPlacement> found;
  for (const std::uint32_t g : row.groups) {
    const std::vector<int>& ranks = groups[g].ranks;
    if (ranks.size() < 2) {
      found.reset();
      break;
    }
    const auto here = place_ranks(ranks, row.kind, network);
    if (!here || (found && !same(*found, *here))) return std::nullopt;
    found = here;
  }
  if (found) return found;
  if (!row.group_size || *row.group_size < 2 || !world_size) return std::nullopt;
  const bool everyone = *row.group_size == *world_size;
  if (!everyone && *world_size > network.domain) return std::nullopt;
  return place(*row.group_size, 1, network);
}

std::vector<ExpectedCollective> expected_collectives(const Collectives& collectives,
                                                     const Network& network,
                                                     std::optional<int> world_size) {
  std::vector<ExpectedCollective> result;
  for (const CollectiveRow& row : collectives.rows) {
    if (!row.bytes || row.bytes->value <= 0 || !has_cost(row.kind)) continue;
    const auto group = placement_of(row, collectives.matches.groups, network, world_size);
    if (!group) continue;
    const double one = collective_time(network, row.kind, *row.bytes, *group).count();
    const bool split = row.split > 0 && row.transfer;
    const std::uint64_t calls = split ? row.split : row.count;
    const double measured = seconds(split ? *row.transfer : row.duration).count();
    if (one <= 0 || calls == 0 || measured <= 0) continue;
    result.push_back({.row = &row,
                      .group = *group,
                      .expected = one * static_cast<double>(calls),
                      .measured = measured,
                      .calls = calls,
                      .with_wait = !split});
  }
  std::ranges::stable_sort(result, std::greater<>(), &ExpectedCollective::gap);
  return result;
}

}  // namespace stepscope
