// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/analysis/matching/process_group.h"
#include "stepscope/analysis/matching/sequence_align.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double clearly_less = 0.5;
constexpr std::size_t most_in_step = 512;  // sends of a group

// A send or a receive of one member.
struct Posted {
  std::uint32_t call = 0;
  Ns start{};
  Ns end{};  // collected
};
// By step, in the order of the calls.
using Steps = std::map<std::int64_t, std::vector<Posted>>;

// The sends or the receives of one member: the same number in each step.
struct Place {
  std::uint32_t member = 0;
  Steps steps;
  std::size_t count = 0;  // in a step
};

// The k-th send of a step of `from` is the j-th receive of `to`.
struct Link {
  std::uint32_t from = 0;
  std::size_t k = 0;
  std::uint32_t to = 0;
  std::size_t j = 0;
};
struct Answer {
  std::vector<Link> links;
  Ns time{};  // of all messages
};

// Keeps the steps with the usual number of calls.
void keep_usual(Place& place) {
  std::map<std::size_t, std::size_t> steps_with;
  for (const auto& [step, posted] : place.steps) ++steps_with[posted.size()];
  place.count = most_frequent(steps_with).value_or(0);
  std::erase_if(place.steps, [&](const auto& s) { return s.second.size() != place.count; });
}

// The messages of one group, if no member has other ones.
class GroupMessages {
 public:
  explicit GroupMessages(std::size_t members) {
    for (std::uint32_t m = 0; m < members; ++m) {
      sends.push_back({.member = m, .steps = {}});
      receives.push_back({.member = m, .steps = {}});
    }
  }
  std::vector<Place> sends;  // by member
  std::vector<Place> receives;

  [[nodiscard]] std::optional<Ns> time_of(const Link& link) const;
  [[nodiscard]] std::optional<Answer> answer() const {
    const std::size_t n = sends.size();
    if (n == 2) return in_order(1);
    auto forward = in_order(1);
    auto backward = in_order(n - 1);
    if (forward && backward) {
      if (backward->time < forward->time) std::swap(forward, backward);
      const bool clear = static_cast<double>(forward->time.count()) <=
                         clearly_less * static_cast<double>(backward->time.count());
      return clear ? forward : std::nullopt;
    }
    if (forward || backward) return forward ? forward : backward;
    return beside();
  }

 private:
  [[nodiscard]] std::optional<Answer> in_order(std::size_t ahead) const;
  [[nodiscard]] std::optional<Answer> beside() const;
  [[nodiscard]] bool joins_all(const std::vector<Link>& links) const;
};

// Over all steps, from the later of both calls until the receiver has the message. Absent if one
// side ever has it before the other has called.
std::optional<Ns> GroupMessages::time_of(const Link& link) const {
  Ns sum{};
  std::size_t steps = 0;
  for (const auto& [step, posted] : sends[link.from].steps) {
    const auto other = receives[link.to].steps.find(step);
    if (other == receives[link.to].steps.end()) continue;
    const Posted& send = posted[link.k];
    const Posted& receive = other->second[link.j];
    if (receive.end < send.start || send.end < receive.start) return std::nullopt;
    sum += receive.end - std::max(send.start, receive.start);
    ++steps;
  }
  return steps == 0 ? std::nullopt : std::optional(sum);
}

// Each member sends to the one that is so far ahead of it in the group.
std::optional<Answer> GroupMessages::in_order(std::size_t ahead) const {
  Answer found;
  for (const Place& from : sends) {
    const auto to = static_cast<std::uint32_t>((from.member + ahead) % sends.size());
    if (from.count != receives[to].count) return std::nullopt;
    for (std::size_t k = 0; k < from.count; ++k) {
      const Link link{from.member, k, to, k};
      const auto time = time_of(link);
      if (!time) return std::nullopt;
      found.links.push_back(link);
      found.time += *time;
    }
  }
  if (found.links.empty()) return std::nullopt;
  return found;
}

bool GroupMessages::joins_all(const std::vector<Link>& links) const {
  std::vector<std::size_t> part(sends.size());
  for (std::size_t m = 0; m < part.size(); ++m) part[m] = m;
  for (const Link& link : links) {
    const std::size_t old = part[link.to];
    for (std::size_t& p : part)
      if (p == old) p = part[link.from];
  }
  return std::ranges::all_of(part, [&](std::size_t p) { return p == part.front(); });
}

// The neighbour that each send goes to, and that each receive comes from. Messages of one rank to
// another keep their order, so the labels give the links.
class Neighbours {
  using Labels = std::vector<bool>;
  const GroupMessages& messages_;
  std::vector<Labels> to_next_;    // by member and send; else to the one before
  std::vector<Labels> from_next_;  // by member and receive

 public:
  explicit Neighbours(const GroupMessages& messages) : messages_(messages) {
    for (std::size_t m = 0; m < messages.sends.size(); ++m) {
      to_next_.emplace_back(messages.sends[m].count);
      from_next_.emplace_back(messages.receives[m].count);
    }
  }

  void set(const Link& link) {
    to_next_[link.from][link.k] = link.to == next(link.from);
    from_next_[link.to][link.j] = link.from == next(link.to);
  }

  // Exchanges labels of one member while that makes the links likelier.
  void improve() {
    constexpr int most_rounds = 16;
    bool better = true;
    for (int round = 0; better && round < most_rounds; ++round) {
      better = false;
      for (std::uint32_t m = 0; m < to_next_.size(); ++m) {
        better |= exchange(to_next_[m], [&] { return cost_of_sends(m); });
        better |= exchange(from_next_[m], [&] { return cost_of_receives(m); });
      }
    }
  }

  // Absent if a link is impossible.
  std::optional<Answer> answer() const {
    Answer found;
    bool possible = true;
    for (std::uint32_t m = 0; m < to_next_.size(); ++m)
      for (const bool forward : {true, false})
        possible &= each_link(m, forward, [&](const Link& link) {
          const auto time = messages_.time_of(link);
          possible &= time.has_value();
          found.links.push_back(link);
          found.time += time.value_or(Ns{0});
        });
    if (!possible) return std::nullopt;
    return found;
  }

 private:
  [[nodiscard]] std::uint32_t next(std::uint32_t m) const {
    return static_cast<std::uint32_t>((m + 1) % to_next_.size());
  }

  [[nodiscard]] std::uint32_t before(std::uint32_t m) const {
    return static_cast<std::uint32_t>((m + to_next_.size() - 1) % to_next_.size());
  }

  [[nodiscard]] double cost_of_sends(std::uint32_t m) const {
    return cost_of(m, true) + cost_of(m, false);
  }

  [[nodiscard]] double cost_of_receives(std::uint32_t m) const {
    return cost_of(before(m), true) + cost_of(next(m), false);
  }

  // Calls take(link) for the messages of a member to the next, or to the one before. False if there
  // are not as many sends as receives.
  template <class Take>
  bool each_link(std::uint32_t from, bool forward, Take&& take) const {
    const std::uint32_t to = forward ? next(from) : before(from);
    const Labels& sends = to_next_[from];
    const Labels& receives = from_next_[to];
    std::size_t j = 0;
    for (std::size_t k = 0; k < sends.size(); ++k) {
      if (sends[k] != forward) continue;
      while (j < receives.size() && receives[j] == forward) ++j;
      if (j == receives.size()) return false;
      take(Link{from, k, to, j++});
    }
    while (j < receives.size() && receives[j] == forward) ++j;
    return j == receives.size();
  }

  double cost_of(std::uint32_t from, bool forward) const {
    constexpr double contradiction = 1e15;  // ns: more than all messages take
    double cost = 0;
    const bool even = each_link(from, forward, [&](const Link& link) {
      const auto time = messages_.time_of(link);
      cost += time ? static_cast<double>(time->count()) : contradiction;
    });
    return even ? cost : 1e3 * contradiction;
  }

  template <class Cost>
  bool exchange(Labels& labels, Cost&& cost) {
    bool better = false;
    double least = cost();
    for (std::size_t a = 0; a < labels.size(); ++a)
      for (std::size_t b = a + 1; b < labels.size(); ++b) {
        if (labels[a] == labels[b]) continue;
        labels[a].flip();
        labels[b].flip();
        const double tried = cost();
        if (tried < least) {
          least = tried;
          better = true;
          continue;
        }
        labels[a].flip();
        labels[b].flip();
      }
    return better;
  }
};

std::optional<Answer> GroupMessages::beside() const {
  std::vector<Link> columns;  // only `to` and `j` count
  std::vector<Link> rows;
  for (const Place& place : sends)
    for (std::size_t k = 0; k < place.count; ++k) rows.push_back({.from = place.member, .k = k});
  for (const Place& place : receives)
    for (std::size_t j = 0; j < place.count; ++j) columns.push_back({.to = place.member, .j = j});
  if (rows.empty() || rows.size() != columns.size() || rows.size() > most_in_step)
    return std::nullopt;
  const auto n = static_cast<std::uint32_t>(sends.size());
  std::vector<std::int64_t> cost(rows.size() * columns.size(), no_assignment);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::uint32_t apart = (columns[c].to + n - rows[r].from) % n;
      if (apart != 1 && apart != n - 1) continue;
      if (const auto time = time_of({rows[r].from, rows[r].k, columns[c].to, columns[c].j}))
        cost[r * columns.size() + c] = time->count();
    }
  const auto assigned = cheapest_assignment(cost, rows.size());
  if (!assigned) return std::nullopt;
  Neighbours neighbours(*this);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Link& column = columns[(*assigned)[r]];
    neighbours.set({rows[r].from, rows[r].k, column.to, column.j});
  }
  neighbours.improve();
  auto found = neighbours.answer();
  return found && joins_all(found->links) ? std::move(found) : std::nullopt;
}

// The number of the step that launched the call, or that it is in.
std::int64_t step_of(const RankView& view, const CollectiveCall& call) {
  if (const auto step = launching_step(view, call)) return *step;
  return call.step ? view.steps[*call.step].index : -1;
}

class PeersByTimes {
  const CapturedViews& in_;

 public:
  explicit PeersByTimes(const CapturedViews& in) : in_(in) {}

  std::vector<UnsureGroup> run() {
    struct Fitting {
      std::uint32_t group = no_row;
      GroupMessages messages;
      Answer answer;
    };
    std::vector<Fitting> fitting;
    for (const std::uint32_t group : candidates()) {
      GroupMessages messages = messages_of(group);
      if (auto answer = messages.answer())
        fitting.push_back({group, std::move(messages), *std::move(answer)});
    }
    std::map<int, std::vector<const Fitting*>> of_rank;
    for (const Fitting& f : fitting)
      for (const int rank : in_.groups[f.group].ranks) of_rank[rank].push_back(&f);
    const auto members = [&](const Fitting& f) -> const std::vector<int>& {
      return in_.groups[f.group].ranks;
    };
    const auto beats = [&](const Fitting& a, const Fitting& b) {
      if (members(a) == members(b)) return a.group <= b.group;
      if ((members(a).size() == 2) != (members(b).size() == 2)) return members(a).size() == 2;
      return static_cast<double>(a.answer.time.count()) <=
             clearly_less * static_cast<double>(b.answer.time.count());
    };
    for (const Fitting& f : fitting) {
      const bool clear = std::ranges::all_of(members(f), [&](int rank) {
        return std::ranges::all_of(of_rank[rank],
                                   [&](const Fitting* other) { return beats(f, *other); });
      });
      if (clear) take(f.group, f.messages, f.answer);
    }
    std::vector<UnsureGroup> unsure;
    for (const std::uint32_t v : in_.of) {
      const auto lost = std::ranges::count_if(in_.ranks[v].calls, [&](const CollectiveCall& call) {
        return is_unnamed(in_.ranks[v], call);
      });
      if (lost > 0) unsure.push_back({in_.views[v].rank, static_cast<std::size_t>(lost), ""});
    }
    return unsure;
  }

 private:
  bool is_unnamed(const RankCalls& rank, const CollectiveCall& call) const {
    return call.on_host && call.edge_count == 1 && rank.edges[call.first_edge].peer() < 0;
  }

  std::set<std::uint32_t> candidates() const {
    std::set<std::uint32_t> found;
    for (const std::uint32_t v : in_.of)
      for (const CollectiveCall& call : in_.ranks[v].calls) {
        if (!is_unnamed(in_.ranks[v], call)) continue;
        if (call.group != no_row) found.insert(call.group);
        if (call.group == no_row)
          found.insert(in_.ranks[v].listed.begin(), in_.ranks[v].listed.end());
      }
    std::erase_if(found, [&](std::uint32_t g) {
      return in_.groups[g].ranks.size() < 2 || !in_.has_all(in_.groups[g]);
    });
    return found;
  }

  GroupMessages messages_of(std::uint32_t group) const {
    const std::vector<int>& members = in_.groups[group].ranks;
    GroupMessages found(members.size());
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::uint32_t v = in_.by_rank.at(members[m]);
      const RankCalls& rank = in_.ranks[v];
      for (std::uint32_t c = 0; c < rank.calls.size(); ++c) {
        const CollectiveCall& call = rank.calls[c];
        if (!is_unnamed(rank, call) || (call.group != no_row && call.group != group)) continue;
        Place& place = rank.edges[call.first_edge].sends ? found.sends[m] : found.receives[m];
        place.steps[step_of(in_.views[v], call)].push_back(
            {c, in_.clocks[v](call.start), in_.clocks[v](call.end)});
      }
      keep_usual(found.sends[m]);
      keep_usual(found.receives[m]);
    }
    return found;
  }

  void take(std::uint32_t group, const GroupMessages& messages, const Answer& answer) {
    const std::vector<int>& members = in_.groups[group].ranks;
    const auto name = [&](const Place& place, std::size_t row, std::uint32_t peer) {
      RankCalls& rank = in_.ranks[in_.by_rank.at(members[place.member])];
      for (const auto& [step, posted] : place.steps) {
        CollectiveCall& call = rank.calls[posted[row].call];
        rank.edges[call.first_edge].peer() = members[peer];
        call.group = group;
        complete_by_group(members[place.member], in_.groups[group], call, rank.edges_of(call));
      }
    };
    for (const Link& link : answer.links) {
      name(messages.sends[link.from], link.k, link.to);
      name(messages.receives[link.to], link.j, link.from);
    }
  }
};

}  // namespace

std::vector<UnsureGroup> find_peers_by_times(const CapturedViews& in) {
  return PeersByTimes(in).run();
}

}  // namespace stepscope
