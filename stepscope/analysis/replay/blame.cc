// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/blame.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <tuple>
#include <unordered_map>

#include "stepscope/analysis/replay/critical_path.h"

namespace stepscope {
namespace {

// A piece of work on the way to a late arrival.
struct Suspect {
  std::uint32_t node = no_node;
  bool delay = false;
  Ns own{};     // its time
  Ns excess{};  // over its peers; 0 if unknown
  [[nodiscard]] Ns weight(bool by_excess) const { return by_excess ? excess : own; }
};

// The waiting that work gets for each nanosecond of its weight.
struct Rate {
  double sum = 0;
  double worst = 0;
  Ns worst_at{};  // of equal ones the first

  void add(const Rate& other) {
    sum += other.sum;
    if (other.worst < worst || (other.worst == worst && other.worst_at >= worst_at)) return;
    worst = other.worst;
    worst_at = other.worst_at;
  }
};
struct Rates {
  Rate by_excess{};
  Rate by_own{};

  void add(const Rates& other) {
    by_excess.add(other.by_excess);
    by_own.add(other.by_own);
  }
};

constexpr std::uint32_t none = no_node;  // no leg, way or group

// A piece of the ways back from the last arrivals of joins: from a join, or from work at which ways
// come together, to the next such node. Many ways share a leg, so its work is summed once and
// charged once.
struct Leg {
  std::uint32_t head = no_node;
  std::uint32_t before = none;  // none: it begins at work that no replay moves
  std::uint32_t group = none;   // of the join; none: it begins at work
  Ns excess{};                  // sums over its work
  Ns own{};
  Suspect most_excess{};  // of equal ones the latest
  Suspect most_own{};
  Rates rates{};
};

// A leg as part of the ways of joins of one group. They go on alike from there, to the first join
// with all members of the group. The sums are over this leg and those before it.
struct Way {
  std::uint32_t leg = 0;
  std::uint32_t before = none;
  std::uint32_t most_excess = none;  // the leg with it
  std::uint32_t most_own = none;
  Ns excess{};
  Ns own{};
  Rates rates{};
};

class Judge {
 public:
  Judge(const Replay& replay, std::span<const RankView> views, const Collectives& job,
        const PeerMedians& medians)
      : replay_(replay), graph_(*replay.graph), views_(views), job_(job), medians_(medians) {}

  std::vector<Blame> run();

 private:
  void find_heads();
  void find_legs();
  void judge(std::uint32_t leg);
  std::uint32_t way_of(std::uint32_t leg);
  [[nodiscard]] bool is_join(std::uint32_t node) const {
    return graph_.kind[node] == NodeKind::join;
  }
  [[nodiscard]] std::uint32_t before(std::uint32_t node) const;
  [[nodiscard]] Ns waiting(std::uint32_t join) const;
  [[nodiscard]] bool holds_all(std::uint32_t earlier, std::uint32_t group) const;
  template <class Each>
  std::uint32_t each_suspect(std::uint32_t head, Each&& each) const;
  void charge(const Suspect& suspect, bool by_excess, const Rate& rate);
  std::vector<Blame> sum_up();

  // Labels are compared by place here, by text at the end.
  struct Key {
    std::uint32_t view = 0;
    const char* label = nullptr;
    bool excess = false;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& k) const {
      return std::hash<const char*>{}(k.label) * 31 + (std::size_t{k.view} << 1U) +
             (k.excess ? 1 : 0);
    }
  };
  struct Charged {
    Blame blame;  // without its wait
    double wait = 0;
    std::unordered_map<std::uint32_t, double> names;  // by name of the row; no_node: no row
  };
  [[nodiscard]] Charged& charged(const Suspect& suspect, bool by_excess) {
    const std::string_view label = suspect.delay
                                       ? std::string_view("unexplained")
                                       : label_of(graph_, views_, job_.matches, suspect.node);
    Charged& c = charged_[{graph_.view[suspect.node], label.data(), by_excess}];
    if (c.blame.label.empty()) c.blame.label = label;
    return c;
  }
  const Replay& replay_;
  const StepGraph& graph_;
  std::span<const RankView> views_;
  const Collectives& job_;
  const PeerMedians& medians_;
  std::vector<bool> heads_;                         // by node
  std::vector<Leg> legs_;                           // ascending by head
  std::vector<std::vector<std::uint32_t>> groups_;  // the views of a join's members, ascending
  std::vector<Way> ways_;                           // each behind the one before it
  std::unordered_map<std::uint64_t, std::uint32_t> way_at_;  // by leg and group
  std::vector<std::uint32_t> new_legs_;
  std::unordered_map<Key, Charged, HashOfKey> charged_;
};

// Total wait of the members before the last one.
Ns Judge::waiting(std::uint32_t join) const {
  Ns total{};
  for (const std::uint32_t arrival : graph_.graph.preds_of(join))
    total += replay_.end[join] - replay_.end[arrival];
  return total;
}

// True if every member of `group` is also a member of `earlier`.
bool Judge::holds_all(std::uint32_t earlier, std::uint32_t group) const {
  return earlier == group || std::ranges::includes(groups_[earlier], groups_[group]);
}

// The work, or the join, that a node waited for last; no_node where no replay moves that.
std::uint32_t Judge::before(std::uint32_t node) const {
  const std::uint32_t latest = latest_pred(graph_.graph, replay_.end, node);
  return latest == no_node || !replay_.movable[latest] ? no_node : latest;
}

// The work of a leg from the last back. Returns the head of the leg before it, or no_node.
template <class Each>
std::uint32_t Judge::each_suspect(std::uint32_t head, Each&& each) const {
  std::uint32_t node = is_join(head) ? before(head) : head;
  for (; node != no_node && (node == head || !heads_[node]); node = before(node)) {
    const Ns duration = replay_.measured.duration[node];
    const Ns delay = replay_.measured.delay(node);
    const Ns median = medians_.of_node[node];
    if (median >= Ns{0}) {
      const Ns excess = std::max(Ns{0}, duration + delay - median);
      each(Suspect{node, delay > duration, duration + delay, excess});
      continue;
    }
    if (duration > Ns{0}) each(Suspect{node, false, duration, Ns{0}});
    if (delay > Ns{0}) each(Suspect{node, true, delay, Ns{0}});
  }
  return node;
}

// The joins, and the work at which the ways of two of them come together.
void Judge::find_heads() {
  heads_.assign(graph_.size(), false);
  std::vector<bool> seen(graph_.size());
  for (const std::uint32_t join : replay_.movable_of[static_cast<std::size_t>(NodeKind::join)])
    heads_[join] = true;
  for (const std::uint32_t join : replay_.movable_of[static_cast<std::size_t>(NodeKind::join)]) {
    std::uint32_t node = before(join);
    for (; node != no_node && !is_join(node) && !seen[node]; node = before(node)) seen[node] = true;
    if (node != no_node) heads_[node] = true;
  }
}

void Judge::find_legs() {
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> members;
  // The head before a leg may have the larger number.
  for (std::uint32_t node = 0; node < heads_.size(); ++node)
    if (heads_[node]) legs_.push_back({.head = node});
  for (Leg& leg : legs_) {
    if (is_join(leg.head)) {
      members.clear();
      for (const std::uint32_t arrival : graph_.graph.preds_of(leg.head))
        members.push_back(graph_.view[arrival]);
      std::ranges::sort(members);
      const auto next = static_cast<std::uint32_t>(numbers.size());
      leg.group = numbers.try_emplace(members, next).first->second;
    }
    const std::uint32_t before = each_suspect(leg.head, [&leg](const Suspect& s) {
      leg.excess += s.excess;
      leg.own += s.own;
      if (s.excess > leg.most_excess.excess) leg.most_excess = s;
      if (s.own > leg.most_own.own) leg.most_own = s;
    });
    if (before != no_node)
      leg.before = static_cast<std::uint32_t>(
          std::ranges::lower_bound(legs_, before, {}, &Leg::head) - legs_.begin());
  }
  groups_.resize(numbers.size());
  for (const auto& [group, number] : numbers) groups_[number] = group;
}

// The way of a join, which is the head of `leg`.
std::uint32_t Judge::way_of(std::uint32_t leg) {
  const std::uint32_t group = legs_[leg].group;
  const auto key = [&](std::uint32_t l) { return std::uint64_t{l} << 32U | group; };
  new_legs_.clear();
  std::uint32_t way = none;
  for (std::uint32_t l = leg; l != none; l = legs_[l].before) {
    if (l != leg && legs_[l].group != none && holds_all(legs_[l].group, group)) break;
    if (const auto at = way_at_.find(key(l)); at != way_at_.end()) {
      way = at->second;
      break;
    }
    new_legs_.push_back(l);
  }
  for (; !new_legs_.empty(); new_legs_.pop_back()) {
    Way next{.leg = new_legs_.back(), .before = way};
    if (way != none) {
      next.most_excess = ways_[way].most_excess;
      next.most_own = ways_[way].most_own;
      next.excess = ways_[way].excess;
      next.own = ways_[way].own;
    }
    const Leg& own = legs_[next.leg];
    next.excess += own.excess;
    next.own += own.own;
    const auto most = [&](std::uint32_t& of, Suspect Leg::* longest, bool by_excess) {
      const Ns weight = (own.*longest).weight(by_excess);
      if (of == none || weight >= (legs_[of].*longest).weight(by_excess)) of = next.leg;
    };
    most(next.most_excess, &Leg::most_excess, true);
    most(next.most_own, &Leg::most_own, false);
    way = static_cast<std::uint32_t>(ways_.size());
    way_at_.emplace(key(next.leg), way);
    ways_.push_back(next);
  }
  return way;
}

void Judge::judge(std::uint32_t leg) {
  const Ns wait = waiting(legs_[leg].head);
  if (wait <= Ns{0}) return;
  Way& way = ways_[way_of(leg)];
  const bool by_excess = way.excess > Ns{0};
  const Ns whole = by_excess ? way.excess : way.own;
  if (whole <= Ns{0}) return;
  const double rate = static_cast<double>(wait.count()) / static_cast<double>(whole.count());
  Rate& rates = by_excess ? way.rates.by_excess : way.rates.by_own;
  rates.add({rate, rate, replay_.end[legs_[leg].head]});
  const Suspect& most =
      by_excess ? legs_[way.most_excess].most_excess : legs_[way.most_own].most_own;
  ++charged(most, by_excess).blame.collectives;
}

void Judge::charge(const Suspect& suspect, bool by_excess, const Rate& rate) {
  const auto weight = static_cast<double>(suspect.weight(by_excess).count());
  if (weight <= 0 || rate.sum <= 0) return;
  Charged& c = charged(suspect, by_excess);
  c.wait += weight * rate.sum;
  const SliceId row = graph_.slice[suspect.node];
  const Trace& trace = *views_[graph_.view[suspect.node]].trace;
  c.names[row == no_slice ? no_node : index(trace.slices.name[index(row)])] += weight * rate.sum;
  const Ns worst{std::llround(weight * rate.worst)};
  const Ns at = rate.worst_at + graph_.origin;
  if (worst == Ns{0} || worst < c.blame.worst) return;
  if (worst == c.blame.worst && at >= c.blame.worst_at) return;
  c.blame.worst = worst;
  c.blame.worst_at = at;
}

std::vector<Blame> Judge::sum_up() {
  struct Named {
    Blame blame;
    double wait = 0;
    std::map<std::string_view, double> names;
  };
  std::map<std::tuple<int, std::string_view, bool>, Named> merged;
  for (const auto& [key, c] : charged_) {
    const int rank = views_[key.view].rank;
    Named& to = merged[{rank, c.blame.label, key.excess}];
    const StringPool& strings = views_[key.view].trace->strings;
    for (const auto& [name, wait] : c.names)
      to.names[name == no_node ? std::string_view{} : strings[StringId{name}]] += wait;
    to.wait += c.wait;
    Blame sum = c.blame;
    sum.rank = rank;
    sum.excess = key.excess;
    sum.collectives += to.blame.collectives;
    const bool earlier = to.blame.worst == sum.worst && to.blame.worst_at < sum.worst_at;
    if (to.blame.worst > sum.worst || earlier) {
      sum.worst = to.blame.worst;
      sum.worst_at = to.blame.worst_at;
    }
    to.blame = std::move(sum);
  }
  std::vector<Blame> blames;
  for (auto& [key, named] : merged) {
    named.blame.wait = Ns{std::llround(named.wait)};
    const auto most =
        std::ranges::max_element(named.names, {}, [](const auto& name) { return name.second; });
    named.blame.name = std::string(most->first);
    blames.push_back(std::move(named.blame));
  }
  std::ranges::stable_sort(blames, std::ranges::greater{}, &Blame::wait);
  return blames;
}

std::vector<Blame> Judge::run() {
  find_heads();
  find_legs();
  for (std::uint32_t leg = 0; leg < legs_.size(); ++leg)
    if (legs_[leg].group != none) judge(leg);
  for (const Way& way : std::views::reverse(ways_)) {
    if (way.before != none) ways_[way.before].rates.add(way.rates);
    legs_[way.leg].rates.add(way.rates);
  }
  for (const Leg& leg : legs_) {
    if (leg.rates.by_excess.sum <= 0 && leg.rates.by_own.sum <= 0) continue;
    each_suspect(leg.head, [&](const Suspect& s) {
      charge(s, true, leg.rates.by_excess);
      charge(s, false, leg.rates.by_own);
    });
  }
  return sum_up();
}

}  // namespace

std::vector<Blame> find_blame(const Replay& replay, std::span<const RankView> views,
                              const Collectives& job, const PeerMedians& medians) {
  return Judge(replay, views, job, medians).run();
}

}  // namespace stepscope
