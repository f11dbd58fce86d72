// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/collective_gates.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "stepscope/analysis/matching/message_size.h"

namespace stepscope {
namespace {

using Members = std::vector<std::uint32_t>;

std::optional<std::uint32_t> root_of(std::span<const RankView> views,
                                     const CollectiveMatches& matches,
                                     const MatchedCollective& matched) {
  const auto members = matches.members_of(matched);
  const auto row = [&](auto at) { return static_cast<std::uint32_t>(at - members.begin()); };
  const auto recorded = std::ranges::find_if(members, [&](CollectiveMember m) {
    const int root = matches.call(m).root;
    return root >= 0 && views[m.view].rank == root;
  });
  if (recorded != members.end()) return row(recorded);
  const bool sends =
      matched.kind == CollectiveKind::broadcast || matched.kind == CollectiveKind::scatter;
  const bool unknown =
      std::ranges::all_of(members, [&](CollectiveMember m) { return matches.call(m).root < 0; });
  if (!sends || !unknown) return std::nullopt;
  const auto last = std::ranges::max_element(
      members, {}, [&](CollectiveMember m) { return matches.call(m).start; });
  const Ns start = matches.call(*last).start;
  const bool all_wait = std::ranges::all_of(
      members, [&](CollectiveMember m) { return matches.call(m).end >= start; });
  return all_wait ? std::optional(row(last)) : std::nullopt;
}

// Members by their place in the group, the root first; empty if it is not known.
Members from_root(std::span<const RankView> views, const CollectiveMatches& matches,
                  const MatchedCollective& matched, std::uint32_t root) {
  const auto members = matches.members_of(matched);
  const std::vector<int>& ranks = matches.groups[matched.group].ranks;
  std::vector<std::pair<std::size_t, std::uint32_t>> places;
  std::size_t first = 0;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto at = std::ranges::find(ranks, views[members[i].view].rank);
    if (at == ranks.end()) return {};
    const auto place = static_cast<std::size_t>(at - ranks.begin());
    if (i == root) first = place;
    places.emplace_back(place, i);
  }
  for (auto& [place, member] : places) place = (place + ranks.size() - first) % ranks.size();
  std::ranges::sort(places);
  Members order;
  for (const auto& [place, member] : places) order.push_back(member);
  return order;
}

// Place p receives from p without its highest bit, and sends to p with one higher bit.
std::vector<CollectiveGate> tree_gates(const Members& order) {
  std::vector<CollectiveGate> gates;
  for (std::uint32_t p = 0; p < order.size(); ++p) {
    CollectiveGate gate{.awaited = {order[p]}, .waiting = {order[p]}};
    for (std::uint32_t above = p; above > 0;) {
      above -= std::bit_floor(above);
      gate.awaited.push_back(order[above]);
    }
    for (std::uint64_t bit = p == 0 ? 1 : std::uint64_t{std::bit_floor(p)} * 2;
         p + bit < order.size(); bit *= 2)
      gate.awaited.push_back(order[p + bit]);
    gates.push_back(std::move(gate));
  }
  return gates;
}

bool is_gloo(std::span<const RankView> views, const CollectiveMatches& matches,
             CollectiveMember member) {
  return views[member.view].trace->name(matches.call(member).slice).starts_with("gloo:");
}

}  // namespace

std::vector<CollectiveGate> gates_of(std::span<const RankView> views,
                                     const CollectiveMatches& matches,
                                     const MatchedCollective& matched) {
  const auto members = matches.members_of(matched);
  Members all(members.size());
  std::iota(all.begin(), all.end(), 0U);
  if (matched.message || is_barrier_like(matched.kind)) return {{.awaited = all, .waiting = all}};
  if (!is_rooted(matched.kind)) return {};
  const auto root = root_of(views, matches, matched);
  if (!root) return {};
  const bool gloo = is_gloo(views, matches, members[*root]);
  if (gloo && matched.kind == CollectiveKind::broadcast)
    if (Members order = from_root(views, matches, matched, *root); !order.empty())
      return tree_gates(order);
  Members others = all;
  std::erase(others, *root);
  const bool to_root =
      matched.kind == CollectiveKind::reduce || matched.kind == CollectiveKind::gather;
  const bool root_waits = to_root || (gloo && matched.kind == CollectiveKind::scatter);
  const bool buffered = matched.kind == CollectiveKind::reduce || (to_root && !gloo);
  std::vector<CollectiveGate> gates = {
      {.awaited = {*root}, .waiting = std::move(others), .buffered = buffered}};
  if (root_waits) gates.push_back({.awaited = std::move(all), .waiting = {*root}});
  return gates;
}

}  // namespace stepscope
