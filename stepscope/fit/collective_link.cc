// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/collective_link.h"

#include <algorithm>
#include <array>
#include <map>

#include "stepscope/fit/rank_places.h"

namespace stepscope {
namespace {

using Link = std::optional<ByteRate>;

// The link of `ranks` by their places. Both links are used at once, and the slower one binds.
Link all_to_all_link(const Machine& machine, std::span<const int> ranks) {
  std::map<int, int> members;  // of each node
  for (const int rank : ranks) ++members[rank / *machine.scale_up->domain];
  if (members.size() < 2) return link_rate(machine, ranks);
  if (!machine.scale_out || !machine.scale_out->per_direction) return std::nullopt;
  const auto by_members = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [fewest, most] = std::ranges::minmax_element(members, by_members);
  const auto n = static_cast<double>(ranks.size());
  const ByteRate out = *machine.scale_out->per_direction * ((n - 1) / (n - fewest->second));
  if (most->second < 2) return out;
  std::vector<int> node;
  for (const int rank : ranks)
    if (rank / *machine.scale_up->domain == most->first) node.push_back(rank);
  const Link in = link_rate(machine, node);
  if (!in) return std::nullopt;
  return std::min(out, *in * ((n - 1) / (most->second - 1)));
}

// The link of one group; none if its pairs differ.
Link placed_link(const Machine& machine, CollectiveKind kind, std::span<const int> ranks) {
  if (kind == CollectiveKind::all_to_all) return all_to_all_link(machine, ranks);
  if (kind != CollectiveKind::send_recv) return link_rate(machine, ranks);
  Link link;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const Link pair = link_rate(machine, std::array{ranks[i - 1], ranks[i]});
    if (!pair || (link && link->value != pair->value)) return std::nullopt;
    link = pair;
  }
  return link;
}

}  // namespace

std::optional<ByteRate> link_of(const Machine& machine, const CollectiveRow& row,
                                const CollectiveMatches& matches, std::optional<int> world_size) {
  if (!machine.scale_up || !machine.scale_up->domain) return std::nullopt;
  const auto places = places_of(row, matches, *machine.scale_up->domain, world_size);
  if (!places) return std::nullopt;
  Link link;
  for (const std::vector<int>& group : places->groups) {
    const Link of_group = placed_link(machine, row.kind, group);
    if (!of_group || (link && link->value != of_group->value)) return std::nullopt;
    link = of_group;
  }
  return link;
}

std::optional<double> link_share(const Machine& machine, const CollectiveRow& row,
                                 const CollectiveMatches& matches, std::optional<int> world_size) {
  if (!row.busbw) return std::nullopt;
  const auto link = link_of(machine, row, matches, world_size);
  return link ? std::optional(row.busbw->value / link->value) : std::nullopt;
}

}  // namespace stepscope
