// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_peers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr Ns clocks_apart = std::chrono::milliseconds{20};  // at most, of hosts that are matched
constexpr Ns ends_apart = std::chrono::microseconds{200};   // on both sides of a message

// One call with messages to unknown peers.
struct Unnamed {
  std::uint32_t call = 0;
  Ns start{};
  Ns end{};
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
};
using Calls = std::vector<Unnamed>;
using OfMembers = std::vector<Calls>;  // in the order of the group

struct Group {
  std::vector<std::uint32_t> views;         // of its members, in order
  std::map<std::int64_t, OfMembers> steps;  // by number of the step that launched them
};

bool has_unknown(const RankCalls& rank, const CollectiveCall& call) {
  return std::ranges::any_of(rank.edges_of(call), [](const P2pEdge& e) { return e.peer() < 0; });
}

// The clock of `b` is ahead by `offset`.
bool beside(const Unnamed& a, const Unnamed& b, Ns offset) {
  return a.start <= b.end - offset + ends_apart && b.start - offset <= a.end + ends_apart;
}

// Whether the k-th calls of all neighbours are one exchange around the group.
bool is_ring(const OfMembers& members) {
  const std::size_t count = members.front().size();
  for (const Calls& calls : members) {
    if (calls.size() != count) return false;
    for (const Unnamed& c : calls)
      if (c.sends != 1 || c.receives != 1) return false;
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Calls& mine = members[m];
    const Calls& next = members[(m + 1) % members.size()];
    std::vector<Ns> apart;
    for (std::size_t k = 0; k < count; ++k) apart.push_back(next[k].end - mine[k].end);
    const Ns offset = apart.empty() ? Ns{0} : upper_median(apart);
    for (std::size_t k = 0; k < count; ++k)
      if (!beside(mine[k], next[k], offset)) return false;
  }
  return count > 0;
}

struct Partners {
  std::vector<std::size_t> of;  // by call of `a`: its partner among `b`
  std::int64_t cost = 0;        // sum of the distances of the ends in ns
};

// Partners in order, with the smallest sum of the distances of the ends if the clock of `b` is
// ahead by `offset`. REQUIRES: a.size() <= b.size().
Partners nearest_ends(const Calls& a, const Calls& b, Ns offset) {
  const std::size_t free = b.size() - a.size();
  const std::size_t width = free + 1;
  // cost[i][j]: of the first i, when j of `b` are passed over.
  std::vector<std::int64_t> cost((a.size() + 1) * width, 0);
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 0; j < width; ++j) {
      const Ns apart = b[i + j - 1].end - a[i - 1].end - offset;
      const std::int64_t taken = cost[(i - 1) * width + j] + std::abs(apart.count());
      cost[i * width + j] = j > 0 ? std::min(taken, cost[i * width + j - 1]) : taken;
    }
  Partners partners{std::vector<std::size_t>(a.size()), cost.back()};
  std::size_t j = free;
  for (std::size_t i = a.size(); i > 0; --i) {
    while (j > 0 && cost[i * width + j - 1] <= cost[i * width + j]) --j;
    partners.of[i - 1] = i + j - 1;
  }
  return partners;
}

// The partners of `a` among `b`, which has others as well. The clocks may be apart: the first call
// of `a` has a partner, so one of the distances from its end is the offset. Absent if the calls do
// not end together at any offset.
std::optional<std::vector<std::size_t>> partners(const Calls& a, const Calls& b) {
  if (a.empty() || a.size() > b.size()) return std::nullopt;
  Partners best;
  Ns offset{};
  for (std::size_t j = 0; j <= b.size() - a.size(); ++j) {
    const Ns tried = b[j].end - a.front().end;
    if (std::chrono::abs(tried) > clocks_apart) continue;
    Partners found = nearest_ends(a, b, tried);
    if (!best.of.empty() && found.cost >= best.cost) continue;
    best = std::move(found);
    offset = tried;
  }
  if (best.of.empty()) return std::nullopt;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Ns apart = b[best.of[i]].end - a[i].end - offset;
    if (std::chrono::abs(apart) > ends_apart || !beside(a[i], b[best.of[i]], offset))
      return std::nullopt;
  }
  return best.of;
}

// By member and call: the neighbour, -1 before or +1 after it. Absent if the counts are no line's.
std::optional<std::vector<std::vector<int>>> line_of(const OfMembers& members) {
  std::vector<std::vector<int>> neighbour;
  for (const Calls& calls : members) neighbour.emplace_back(calls.size(), 0);
  Calls with_next = members.front();  // of member m
  std::ranges::fill(neighbour.front(), 1);
  for (std::size_t m = 0; m + 1 < members.size(); ++m) {
    const auto partner = partners(with_next, members[m + 1]);
    if (!partner) return std::nullopt;
    for (const std::size_t k : *partner) neighbour[m + 1][k] = -1;
    with_next.clear();
    for (std::size_t k = 0; k < members[m + 1].size(); ++k) {
      if (neighbour[m + 1][k] != 0) continue;
      neighbour[m + 1][k] = 1;
      with_next.push_back(members[m + 1][k]);
    }
  }
  if (!with_next.empty()) return std::nullopt;
  return neighbour;
}

void name_step(const CapturedViews& in, const Group& group, const OfMembers& members) {
  const std::size_t size = members.size();
  const auto rank_of = [&](std::size_t member) { return in.views[group.views[member]].rank; };
  const auto name = [&](std::size_t member, const Unnamed& c, std::size_t to, std::size_t from) {
    RankCalls& rank = in.ranks[group.views[member]];
    for (P2pEdge& edge : rank.edges_of(rank.calls[c.call]))
      if (edge.peer() < 0) edge.peer() = rank_of(edge.sends ? to : from);
  };
  if (is_ring(members)) {
    for (std::size_t m = 0; m < size; ++m)
      for (const Unnamed& c : members[m]) name(m, c, (m + 1) % size, (m + size - 1) % size);
    return;
  }
  const auto neighbours = line_of(members);
  if (!neighbours) return;
  for (std::size_t m = 0; m < size; ++m)
    for (std::size_t k = 0; k < members[m].size(); ++k) {
      const std::size_t peer = (*neighbours)[m][k] > 0 ? m + 1 : m - 1;
      name(m, members[m][k], peer, peer);
    }
}

// If one record's number is the rank's own, all are. A group of two needs none.
void forget_own_numbers(const CapturedViews& in) {
  if (std::ranges::none_of(in.ranks, &RankCalls::own_numbers)) return;
  for (RankCalls& rank : in.ranks)
    for (const CollectiveCall& call : rank.calls) {
      if (call.group == no_row || in.groups[call.group].ranks.size() < 3) continue;
      for (P2pEdge& edge : rank.edges_of(call))
        if (edge.by_number) edge.peer() = -1;
    }
}

}  // namespace

void infer_peers(const CapturedViews& in) {
  forget_own_numbers(in);
  std::map<std::uint32_t, Group> unnamed_of;
  for (const std::uint32_t v : in.of) {
    const RankCalls& rank = in.ranks[v];
    for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
      const CollectiveCall& call = rank.calls[c];
      if (call.group == no_row || call.edge_count == 0 || !has_unknown(rank, call)) continue;
      const CommGroup& known = in.groups[call.group];
      const auto step = launching_step(in.views[v], call);
      const auto self = known.place_of(in.views[v].rank);
      if (!step || !in.has_all(known) || !self) continue;
      Group& group = unnamed_of[call.group];
      if (group.views.empty())
        for (const int r : known.ranks) group.views.push_back(in.by_rank.at(r));
      Unnamed unnamed{.call = c, .start = in.clocks[v](call.start), .end = in.clocks[v](call.end)};
      for (const P2pEdge& edge : rank.edges_of(call))
        ++(edge.sends ? unnamed.sends : unnamed.receives);
      OfMembers& members = group.steps[*step];
      members.resize(known.ranks.size());
      members[*self].push_back(unnamed);
    }
  }
  for (auto& [row, group] : unnamed_of)
    for (auto& [step, members] : group.steps) {
      for (Calls& calls : members) std::ranges::sort(calls, {}, &Unnamed::end);
      name_step(in, group, members);
    }
  for (const std::uint32_t v : in.of) drop_unnamed(in.ranks[v]);
}

void drop_unnamed(RankCalls& rank) {
  for (CollectiveCall& call : rank.calls)
    if (call.edge_count > 0 && has_unknown(rank, call)) call.edge_count = 0;
}

namespace {

// A capture may begin or end between a send and its receive.
constexpr double least_agreement = 0.8;

// Messages of one rank that are alike.
struct MessageClass {
  int number = 0;  // of the peer
  bool sends = false;
  std::int64_t elements = -1;
  int tag = 0;

  auto operator<=>(const MessageClass&) const = default;
};
using MessageCounts = std::map<MessageClass, std::size_t>;

class MessageGroups {
  const CapturedViews& in_;
  std::vector<MessageCounts> counts_;             // by view
  std::map<std::uint32_t, double> fit_of_group_;  // mean agreement of its members' messages

 public:
  explicit MessageGroups(const CapturedViews& in) : in_(in), counts_(in.views.size()) {
    for (const std::uint32_t v : in.of)
      for (const CollectiveCall& call : in.ranks[v].calls)
        if (const auto of = class_of(v, call)) ++counts_[v][*of];
  }

  void run() {
    judge_groups();
    for (const std::uint32_t v : in_.of) {
      RankCalls& rank = in_.ranks[v];
      std::map<MessageClass, std::uint32_t> chosen;
      for (const auto& [of, count] : counts_[v]) chosen[of] = group_of(v, of, count);
      for (CollectiveCall& call : rank.calls) {
        const auto of = class_of(v, call);
        if (!of) continue;
        const std::uint32_t group = chosen.at(*of);
        P2pEdge& edge = rank.edges[call.first_edge];
        if (group != no_row) {
          call.group = group;
          complete_by_group(in_.views[v].rank, in_.groups[group], call, rank.edges_of(call));
        } else if (!rank.listed.empty()) {
          edge.peer() = -1;
        }
        edge.in_group = false;
      }
    }
  }

 private:
  // On a host a call has one message.
  std::optional<MessageClass> class_of(std::uint32_t view, const CollectiveCall& call) const {
    if (call.group != no_row || call.edge_count != 1) return std::nullopt;
    const P2pEdge& edge = in_.ranks[view].edges[call.first_edge];
    if (!edge.in_group) return std::nullopt;
    return MessageClass{edge.peer(), edge.sends, edge.elements, edge.tag};
  }

  // The share of messages that have a counterpart if they are of this group. Absent if the peer is
  // not traced.
  std::optional<double> agreement(std::uint32_t view, const CommGroup& group,
                                  const MessageClass& of, std::size_t count) const {
    const auto self = group.place_of(in_.views[view].rank);
    if (static_cast<std::size_t>(of.number) >= group.ranks.size()) return 0;
    const int peer = group.ranks[static_cast<std::size_t>(of.number)];
    if (peer == in_.views[view].rank) return 0;
    const auto at = in_.by_rank.find(peer);
    if (at == in_.by_rank.end()) return std::nullopt;
    const MessageCounts& theirs = counts_[at->second];
    const auto found =
        theirs.find({self ? static_cast<int>(*self) : -1, !of.sends, of.elements, of.tag});
    if (found == theirs.end()) return 0;
    const auto [less, more] = std::minmax(count, found->second);
    return static_cast<double>(less) / static_cast<double>(more);
  }

  void judge_groups() {
    std::map<std::uint32_t, std::pair<double, double>> sums;  // agreeing messages, all
    for (const std::uint32_t v : in_.of)
      for (const std::uint32_t g : in_.ranks[v].listed) {
        for (const auto& [of, count] : counts_[v]) {
          const auto share = agreement(v, in_.groups[g], of, count);
          if (!share) continue;
          sums[g].first += *share * static_cast<double>(count);
          sums[g].second += static_cast<double>(count);
        }
      }
    for (const auto& [g, sum] : sums) fit_of_group_[g] = sum.first / sum.second;
  }

  // The group whose members agree most, then the smaller group: both sides of a message choose
  // alike.
  std::uint32_t group_of(std::uint32_t view, const MessageClass& of, std::size_t count) const {
    std::uint32_t best = no_row;
    const auto key = [&](std::uint32_t g) {
      const auto at = fit_of_group_.find(g);
      return std::tuple(at == fit_of_group_.end() ? 0 : at->second, -in_.groups[g].size,
                        -std::int64_t{g});
    };
    for (const std::uint32_t g : in_.ranks[view].listed) {
      const auto share = agreement(view, in_.groups[g], of, count);
      if (!share || *share < least_agreement) continue;
      if (best == no_row || key(g) > key(best)) best = g;
    }
    return best;
  }
};

}  // namespace

void find_message_groups(const CapturedViews& in) { MessageGroups(in).run(); }

}  // namespace stepscope
