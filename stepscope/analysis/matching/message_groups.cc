// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace stepscope {
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
 public:
  MessageGroups(std::span<const RankView> views, std::span<const std::uint32_t> of_capture,
                std::span<const CommGroup> groups, std::span<RankCalls> ranks)
      : views_(views),
        of_capture_(of_capture),
        groups_(groups),
        ranks_(ranks),
        counts_(views.size()) {
    for (const std::uint32_t v : of_capture) {
      view_of_[views[v].rank] = v;
      for (const CollectiveCall& call : ranks[v].calls)
        if (const auto of = class_of(v, call)) ++counts_[v][*of];
    }
  }
  void run();

 private:
  [[nodiscard]] std::optional<MessageClass> class_of(std::uint32_t view,
                                                     const CollectiveCall& call) const;
  [[nodiscard]] std::optional<double> agreement(std::uint32_t view, const CommGroup& group,
                                                int self, const MessageClass& of,
                                                std::size_t count) const;
  void judge_groups();
  [[nodiscard]] std::uint32_t group_of(std::uint32_t view, const MessageClass& of,
                                       std::size_t count) const;

  std::span<const RankView> views_;
  std::span<const std::uint32_t> of_capture_;
  std::span<const CommGroup> groups_;
  std::span<RankCalls> ranks_;
  std::vector<MessageCounts> counts_;  // by view
  std::map<int, std::uint32_t> view_of_;
  std::map<std::uint32_t, double> fit_of_group_;  // mean agreement of its members' messages
};

// On a host a call has one message.
std::optional<MessageClass> MessageGroups::class_of(std::uint32_t view,
                                                    const CollectiveCall& call) const {
  if (call.group != no_row || call.edge_count != 1) return std::nullopt;
  const P2pEdge& edge = ranks_[view].edges[call.first_edge];
  if (!edge.in_group) return std::nullopt;
  return MessageClass{edge.sends ? edge.dst : edge.src, edge.sends, edge.elements, edge.tag};
}

int number_in(const CommGroup& group, int rank) {
  const auto at = std::ranges::find(group.ranks, rank);
  return at == group.ranks.end() ? -1 : static_cast<int>(at - group.ranks.begin());
}

// The share of messages that have a counterpart if they are of this group, in which the rank has
// the number `self`. Absent if the peer is not traced.
std::optional<double> MessageGroups::agreement(std::uint32_t view, const CommGroup& group, int self,
                                               const MessageClass& of, std::size_t count) const {
  if (static_cast<std::size_t>(of.number) >= group.ranks.size()) return 0;
  const int peer = group.ranks[static_cast<std::size_t>(of.number)];
  if (peer == views_[view].rank) return 0;
  const auto at = view_of_.find(peer);
  if (at == view_of_.end()) return std::nullopt;
  const MessageCounts& theirs = counts_[at->second];
  const auto found = theirs.find({self, !of.sends, of.elements, of.tag});
  if (found == theirs.end()) return 0;
  const auto [less, more] = std::minmax(count, found->second);
  return static_cast<double>(less) / static_cast<double>(more);
}

void MessageGroups::judge_groups() {
  std::map<std::uint32_t, std::pair<double, double>> sums;  // agreeing messages, all
  for (const std::uint32_t v : of_capture_)
    for (const std::uint32_t g : ranks_[v].listed) {
      const int self = number_in(groups_[g], views_[v].rank);
      for (const auto& [of, count] : counts_[v]) {
        const auto share = agreement(v, groups_[g], self, of, count);
        if (!share) continue;
        sums[g].first += *share * static_cast<double>(count);
        sums[g].second += static_cast<double>(count);
      }
    }
  for (const auto& [g, sum] : sums) fit_of_group_[g] = sum.first / sum.second;
}

// Of groups that agree, the one whose members agree most, then the smaller: both sides of a message
// choose alike.
std::uint32_t MessageGroups::group_of(std::uint32_t view, const MessageClass& of,
                                      std::size_t count) const {
  std::uint32_t best = no_row;
  const auto key = [&](std::uint32_t g) {
    const auto at = fit_of_group_.find(g);
    return std::tuple(at == fit_of_group_.end() ? 0 : at->second, -groups_[g].size,
                      -std::int64_t{g});
  };
  for (const std::uint32_t g : ranks_[view].listed) {
    const int self = number_in(groups_[g], views_[view].rank);
    const auto share = agreement(view, groups_[g], self, of, count);
    if (!share || *share < least_agreement) continue;
    if (best == no_row || key(g) > key(best)) best = g;
  }
  return best;
}

void MessageGroups::run() {
  judge_groups();
  for (const std::uint32_t v : of_capture_) {
    RankCalls& rank = ranks_[v];
    std::map<MessageClass, std::uint32_t> chosen;
    for (const auto& [of, count] : counts_[v]) chosen[of] = group_of(v, of, count);
    for (CollectiveCall& call : rank.calls) {
      const auto of = class_of(v, call);
      if (!of) continue;
      const std::uint32_t group = chosen.at(*of);
      P2pEdge& edge = rank.edges[call.first_edge];
      if (group != no_row) {
        call.group = group;
        complete_by_group(views_[v].rank, groups_[group], call, rank.edges_of(call));
      } else if (!rank.listed.empty()) {
        (edge.sends ? edge.dst : edge.src) = -1;
      }
      edge.in_group = false;
    }
  }
}

}  // namespace

void find_message_groups(std::span<const RankView> views, std::span<const std::uint32_t> of_capture,
                         std::span<const CommGroup> groups, std::span<RankCalls> ranks) {
  MessageGroups(views, of_capture, groups, ranks).run();
}

}  // namespace stepscope
