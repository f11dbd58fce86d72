// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/nccl_shape.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

// NCCL's buffer for a line of trees; what fills it may be cut.
constexpr std::size_t longest_tree_line = 1000;

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at != std::string_view::npos) text.remove_prefix(at + separator.size());
  }
  return out;
}

// Absent: no list of ranks of this communicator.
std::optional<std::vector<int>> ranks_of(std::string_view text, int ranks) {
  std::vector<int> out;
  std::set<int> seen;
  for (const std::string_view part : parts_of(text, " ")) {
    const auto rank = number_of<int>(part);
    if (!rank || *rank < 0 || *rank >= ranks || !seen.insert(*rank).second) return std::nullopt;
    out.push_back(*rank);
  }
  return out;
}

// From rank 0, or from the lowest rank that nobody sends to. Absent: the hops form no ring. With 0
// ranks their number is not known, and a closed ring is whole.
std::optional<NcclRing> order_of_hops(const std::map<int, int>& hops, int ranks) {
  std::set<int> receivers;
  for (const auto& [from, to] : hops)
    if (from < 0 || to < 0 || (ranks > 0 && std::max(from, to) >= ranks) ||
        !receivers.insert(to).second)
      return std::nullopt;
  const auto start =
      std::ranges::find_if(hops, [&](const auto& hop) { return !receivers.contains(hop.first); });
  const int first = (start != hops.end() ? start : hops.begin())->first;
  NcclRing out{.order = {first}};
  auto next = hops.find(first);
  for (; next != hops.end() && next->second != first; next = hops.find(next->second))
    out.order.push_back(next->second);
  const bool closed = next != hops.end();
  out.whole = ranks > 0 ? out.order.size() == static_cast<std::size_t>(ranks)
                        : closed && out.order.size() == hops.size();
  if (closed && !out.whole) return std::nullopt;
  return out;
}

std::optional<NcclRing> ring_of(const LoggedCommunicator& c, int channel) {
  std::optional<NcclRing> line;
  const auto logged = c.rings.find(channel);
  if (logged != c.rings.end()) {
    auto order = ranks_of(logged->second, c.ranks);
    if (!order) return std::nullopt;
    const bool whole = order->size() == static_cast<std::size_t>(c.ranks);
    line = NcclRing{.order = std::move(*order), .whole = whole};
  }
  const auto hops = c.ring_hops.find(channel);
  if ((line && line->whole) || hops == c.ring_hops.end() || hops->second.empty()) return line;
  auto walked = order_of_hops(hops->second, c.ranks);
  if (!walked) return std::nullopt;
  if (line && !walked->whole) return line;
  return walked;
}

// Equal entries without channels are kept once.
template <class Shape>
void add_channel(int channel, Shape shape, std::vector<Shape>& all) {
  const auto same = std::ranges::find_if(all, [&](const Shape& other) {
    shape.channels = other.channels;
    return shape == other;
  });
  if (same != all.end()) return same->channels.push_back(channel);
  shape.channels = {channel};
  all.push_back(std::move(shape));
}

void find_rings(const LoggedCommunicator& c, NcclShape& out) {
  std::set<int> channels;
  for (const auto& [channel, ring] : c.rings) channels.insert(channel);
  for (const auto& [channel, hops] : c.ring_hops) channels.insert(channel);
  for (const int channel : channels) {
    auto ring = ring_of(c, channel);
    if (!ring) {
      ++out.unclear_rings;
      continue;
    }
    add_channel(channel, *std::move(ring), out.rings);
  }
}

// "1/4/-1->0->-1", before NCCL 2.5 "-1->0->1/4/-1". Absent: something else.
std::optional<NcclTreeRank> tree_rank(std::string_view text, int ranks) {
  const auto parts = parts_of(text.substr(0, text.find('|')), "->");
  if (parts.size() != 3) return std::nullopt;
  const auto is_list = [](std::string_view part) {
    return part.find('/') != std::string_view::npos;
  };
  const bool down_first = is_list(parts[0]);
  if (down_first == is_list(parts[2])) return std::nullopt;
  const auto rank = number_of<int>(parts[1]);
  const auto up = number_of<int>(parts[down_first ? 2 : 0]);
  const auto valid = [&](const std::optional<int>& r) { return r && *r >= -1 && *r < ranks; };
  if (!valid(rank) || *rank < 0 || !valid(up)) return std::nullopt;
  NcclTreeRank out{.rank = *rank, .up = *up};
  for (const std::string_view part : parts_of(parts[down_first ? 0 : 2], "/")) {
    const auto down = number_of<int>(part);
    if (!valid(down)) return std::nullopt;
    if (*down >= 0) out.down.push_back(*down);
  }
  std::ranges::sort(out.down);
  return out;
}

struct ChannelTree {
  std::map<int, NcclTreeRank> ranks;
  bool clear = true;
};

void add_places(const NcclMember& member, int ranks, std::map<int, ChannelTree>& trees) {
  auto words = parts_of(member.trees, " ");
  if (member.trees.size() >= longest_tree_line) words.pop_back();
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string_view head = words[i];
    if (!head.starts_with('[') || !head.ends_with(']')) return;
    const auto channel = number_of<int>(head.substr(1, head.size() - 2));
    if (!channel || *channel < 0) return;
    ChannelTree& tree = trees[*channel];
    auto place = tree_rank(words[i + 1], ranks);
    if (!place || place->rank != member.rank) {
      tree.clear = false;
      continue;
    }
    tree.ranks.emplace(place->rank, std::move(*place));
  }
}

// Whether parents and children name each other, where both are logged.
bool agree(const std::map<int, NcclTreeRank>& ranks) {
  return std::ranges::all_of(ranks, [&](const auto& entry) {
    const NcclTreeRank& r = entry.second;
    const auto up = ranks.find(r.up);
    if (up != ranks.end() && !std::ranges::binary_search(up->second.down, r.rank)) return false;
    return std::ranges::all_of(r.down, [&](int down) {
      const auto child = ranks.find(down);
      return child == ranks.end() || child->second.up == r.rank;
    });
  });
}

// Whether one root leads to every rank.
bool is_whole(const std::map<int, NcclTreeRank>& ranks, int size) {
  if (ranks.size() != static_cast<std::size_t>(size)) return false;
  std::vector<int> reached;
  for (const auto& [rank, place] : ranks)
    if (place.up < 0) reached.push_back(rank);
  if (reached.size() != 1) return false;
  for (std::size_t i = 0; i < reached.size() && reached.size() <= ranks.size(); ++i)
    for (const int down : ranks.at(reached[i]).down) reached.push_back(down);
  return reached.size() == ranks.size();
}

void find_trees(const LoggedCommunicator& c, NcclShape& out) {
  std::map<int, ChannelTree> trees;
  for (const NcclMember& m : c.members)
    if (!m.trees.empty()) add_places(m, c.ranks, trees);
  for (auto& [channel, tree] : trees) {
    if (!tree.clear || !agree(tree.ranks)) {
      ++out.unclear_trees;
      continue;
    }
    NcclTree found{.whole = is_whole(tree.ranks, c.ranks)};
    for (auto& [rank, place] : tree.ranks) found.ranks.push_back(std::move(place));
    add_channel(channel, std::move(found), out.trees);
  }
}

}  // namespace

NcclShape nccl_shape(const LoggedCommunicator& communicator) {
  NcclShape out;
  find_rings(communicator, out);
  find_trees(communicator, out);
  return out;
}

}  // namespace stepscope
