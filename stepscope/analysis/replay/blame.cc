// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/blame.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

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
};

// The way back from the last arrival of a join to the join before it. Ways of many joins share a
// leg, so its work is summed once and charged once.
struct Leg {
  std::uint32_t join = no_node;
  std::uint32_t before = no_leg;  // no_leg: it begins at work that no replay moves
  std::uint32_t group = 0;
  Ns excess{};  // sums over its work
  Ns own{};
  Suspect most_excess{};  // of equal ones the latest
  Suspect most_own{};
  Rate by_excess{};
  Rate by_own{};

  static constexpr std::uint32_t no_leg = no_node;
};

class Judge {
 public:
  Judge(const Replay& replay, std::span<const RankView> views, const Collectives& job,
        const PeerMedians& medians)
      : replay_(replay), graph_(*replay.graph), views_(views), job_(job), medians_(medians) {}

  std::vector<Blame> run();

 private:
  void find_legs();
  void judge(std::uint32_t leg);
  [[nodiscard]] Ns waiting(std::uint32_t join) const;
  [[nodiscard]] bool holds_all(std::uint32_t earlier, std::uint32_t group) const;
  template <class Each>
  std::uint32_t each_suspect(std::uint32_t join, Each&& each) const;
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
  std::vector<Leg> legs_;                           // ascending by join
  std::vector<std::vector<std::uint32_t>> groups_;  // the views of a join's members, ascending
  std::vector<std::uint32_t> way_;                  // legs from a join back
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

// From the last arrival back. Returns the join before it, or no_node.
template <class Each>
std::uint32_t Judge::each_suspect(std::uint32_t join, Each&& each) const {
  for (std::uint32_t node = latest_pred(graph_.graph, replay_.end, join);
       node != no_node && replay_.movable[node];
       node = latest_pred(graph_.graph, replay_.end, node)) {
    if (graph_.kind[node] == NodeKind::join) return node;
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
  return no_node;
}

void Judge::find_legs() {
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> members;
  for (const std::uint32_t join : replay_.movable_of[static_cast<std::size_t>(NodeKind::join)]) {
    members.clear();
    for (const std::uint32_t arrival : graph_.graph.preds_of(join))
      members.push_back(graph_.view[arrival]);
    std::ranges::sort(members);
    const auto next = static_cast<std::uint32_t>(numbers.size());
    Leg leg{.join = join, .group = numbers.try_emplace(members, next).first->second};
    const std::uint32_t before = each_suspect(join, [&leg](const Suspect& s) {
      leg.excess += s.excess;
      leg.own += s.own;
      if (s.excess > leg.most_excess.excess) leg.most_excess = s;
      if (s.own > leg.most_own.own) leg.most_own = s;
    });
    if (before != no_node)
      leg.before = static_cast<std::uint32_t>(
          std::ranges::lower_bound(legs_, before, {}, &Leg::join) - legs_.begin());
    legs_.push_back(leg);
  }
  groups_.resize(numbers.size());
  for (const auto& [group, number] : numbers) groups_[number] = group;
}

void Judge::judge(std::uint32_t leg) {
  const Ns wait = waiting(legs_[leg].join);
  if (wait <= Ns{0}) return;
  way_.assign(1, leg);
  for (std::uint32_t l = legs_[leg].before;
       l != Leg::no_leg && !holds_all(legs_[l].group, legs_[leg].group); l = legs_[l].before)
    way_.push_back(l);
  Ns excess{};
  Ns own{};
  for (const std::uint32_t l : way_) {
    excess += legs_[l].excess;
    own += legs_[l].own;
  }
  const bool by_excess = excess > Ns{0};
  const Ns whole = by_excess ? excess : own;
  if (whole <= Ns{0}) return;
  const double rate = static_cast<double>(wait.count()) / static_cast<double>(whole.count());
  Suspect most;
  for (const std::uint32_t l : way_) {
    const Suspect& longest = by_excess ? legs_[l].most_excess : legs_[l].most_own;
    if (longest.weight(by_excess) > most.weight(by_excess)) most = longest;
    Rate& r = by_excess ? legs_[l].by_excess : legs_[l].by_own;
    r.sum += rate;
    const Ns at = replay_.end[legs_[leg].join];
    if (rate < r.worst || (rate == r.worst && at >= r.worst_at)) continue;
    r.worst = rate;
    r.worst_at = at;
  }
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
  find_legs();
  for (std::uint32_t leg = 0; leg < legs_.size(); ++leg) judge(leg);
  for (const Leg& leg : legs_) {
    if (leg.by_excess.sum <= 0 && leg.by_own.sum <= 0) continue;
    each_suspect(leg.join, [&](const Suspect& s) {
      charge(s, true, leg.by_excess);
      charge(s, false, leg.by_own);
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
