// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/blame.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
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
  for (std::uint32_t head = 0; head < heads_.size(); ++head) {
    if (!heads_[head]) continue;
    Leg leg{.head = head};
    if (is_join(head)) {
      members.clear();
      for (const std::uint32_t arrival : graph_.graph.preds_of(head))
        members.push_back(graph_.view[arrival]);
      std::ranges::sort(members);
      const auto next = static_cast<std::uint32_t>(numbers.size());
      leg.group = numbers.try_emplace(members, next).first->second;
    }
    const std::uint32_t before = each_suspect(head, [&leg](const Suspect& s) {
      leg.excess += s.excess;
      leg.own += s.own;
      if (s.excess > leg.most_excess.excess) leg.most_excess = s;
      if (s.own > leg.most_own.own) leg.most_own = s;
    });
    if (before != no_node)
      leg.before = static_cast<std::uint32_t>(
          std::ranges::lower_bound(legs_, before, {}, &Leg::head) - legs_.begin());
    legs_.push_back(leg);
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

namespace {

// What the path covers: from an instant to the end of a node, after the graph's origin.
struct Stretch {
  Ns begin{};
  std::uint32_t last = no_node;
  std::size_t steps = 0;
};

// The stretch of one view: its steps that count, else all of its recorded steps.
Stretch stretch_of(const Replay& replay, std::size_t view, std::span<const Step> steps) {
  const StepGraph& graph = *replay.graph;
  if (steps.empty()) return {replay.start(graph.begin[view]), graph.end[view], graph.steps[view]};
  const auto end = std::ranges::find(graph.step_ends, steps.back().index, &StepEnd::index);
  const bool ends = end != graph.step_ends.end() && end->follows;
  return {steps.front().start - graph.origin, ends ? end->node[view] : graph.end[view],
          steps.size()};
}

// The stretch of the view that the job waits for.
Stretch find_stretch(const Replay& replay, std::span<const std::vector<Step>> steps) {
  const StepGraph& graph = *replay.graph;
  Stretch found;
  Ns most = Ns::min();
  for (std::size_t v = 0; v < graph.end.size(); ++v) {
    if (graph.begin[v] == no_node || graph.end[v] == no_node) continue;
    Stretch own = stretch_of(replay, v, steps[v]);
    if (found.last != no_node && graph.clocks_comparable)
      own.begin = std::min(own.begin, found.begin);
    if (graph.clocks_comparable) found.begin = own.begin;
    const Ns end = replay.end[own.last];
    const Ns late =
        graph.clocks_comparable ? end : (end - own.begin) / static_cast<std::int64_t>(own.steps);
    if (late <= most) continue;
    most = late;
    found = own;
  }
  return found;
}

constexpr std::array<std::string_view, 3> other_labels = {"communication", "not recorded",
                                                          "unexplained"};
constexpr std::size_t of_class = node_kind_count;
constexpr std::size_t of_collective = of_class + name_class_count;
constexpr std::size_t communication_row = of_collective + collective_kind_count;
constexpr std::size_t not_recorded_row = communication_row + 1;
constexpr std::size_t unexplained_row = communication_row + 2;

// Some labels appear twice, as a kind of node and as a class of names.
constexpr auto labels = [] {
  std::array<std::string_view, communication_row + other_labels.size()> all;
  std::ranges::copy(node_kind_names, all.begin());
  std::ranges::copy(name_class_names, all.begin() + of_class);
  std::ranges::copy(collective_kind_names, all.begin() + of_collective);
  std::ranges::copy(other_labels, all.begin() + communication_row);
  return all;
}();

std::size_t label_number(const StepGraph& graph, std::span<const RankView> views,
                         const CollectiveMatches& matches, std::uint32_t node) {
  const NodeKind kind = graph.kind[node];
  if (kind == NodeKind::comm || kind == NodeKind::transfer) {
    const std::uint32_t row = graph.detail[node];
    if (row == no_row) return communication_row;
    const CollectiveKind c = matches.ranks[graph.view[node]].calls[row].kind;
    return c == CollectiveKind::unknown ? communication_row
                                        : of_collective + static_cast<std::size_t>(c);
  }
  if (kind == NodeKind::compute && graph.slice[node] != no_slice) {
    const Trace& t = *views[graph.view[node]].trace;
    return of_class + static_cast<std::size_t>(t.slices.kind[index(graph.slice[node])]);
  }
  return static_cast<std::size_t>(kind);
}

class PathReader {
 public:
  PathReader(const Replay& replay, std::span<const RankView> views,
             std::span<const std::vector<Step>> steps, const CollectiveMatches& matches,
             std::span<const HostPhases> phases, std::size_t longest)
      : replay_(replay),
        graph_(*replay.graph),
        views_(views),
        steps_(steps),
        matches_(matches),
        phases_(phases),
        shares_(views.size()),
        longest_(longest) {}

  CriticalPath read();

 private:
  // The part of a node's delay or duration on the path.
  struct Part {
    Ns from{};
    Ns time{};
    std::uint32_t node = 0;
    bool delay = false;
  };
  void add(std::uint32_t node, Ns from, Ns to, bool delay);
  void keep_if_long(const Part& part);
  void list_shares();
  void list_longest();
  [[nodiscard]] std::size_t label_of(const Part& part) const;
  [[nodiscard]] Phase phase_of(std::uint32_t node) const;
  [[nodiscard]] bool lacks_launch(std::uint32_t node) const;
  void add_slack(std::span<const std::uint32_t> path);

  const Replay& replay_;
  const StepGraph& graph_;
  std::span<const RankView> views_;
  std::span<const std::vector<Step>> steps_;
  const CollectiveMatches& matches_;
  std::span<const HostPhases> phases_;
  Ns from_{};
  Ns to_{};
  std::vector<std::array<std::array<Ns, phase_count>, labels.size()>> shares_;  // by view
  std::size_t longest_ = 0;
  std::vector<Part> long_;  // a heap with the shortest in front
  CriticalPath out_;
};

// Longer first; of equal ones the earlier first.
constexpr auto longer = [](const auto& a, const auto& b) {
  return a.time != b.time ? a.time > b.time : a.from < b.from;
};

// The phase of the operation's launch, else of the row itself.
Phase PathReader::phase_of(std::uint32_t node) const {
  const SliceId slice = graph_.slice[node];
  if (slice == no_slice) return Phase::other;
  const RankView& view = views_[graph_.view[node]];
  const SliceId call =
      is_device_work(view.trace->slices.category[index(slice)]) ? view.index->launch(slice) : slice;
  if (call == no_slice) return Phase::other;
  return phases_[graph_.view[node]].at(view.trace->slices.track[index(call)],
                                       view.trace->slices.start[index(call)]);
}

bool PathReader::lacks_launch(std::uint32_t node) const {
  const SliceId slice = graph_.slice[node];
  if (slice == no_slice) return false;
  const RankView& view = views_[graph_.view[node]];
  return is_device_work(view.trace->slices.category[index(slice)]) &&
         view.index->launch(slice) == no_slice;
}

void PathReader::add(std::uint32_t node, Ns from, Ns to, bool delay) {
  from = std::max(from, from_);
  to = std::min(to, to_);
  if (from >= to) return;
  const Part part{from, to - from, node, delay};
  const std::size_t label = label_of(part);
  shares_[graph_.view[node]][label][static_cast<std::size_t>(phase_of(node))] += part.time;
  out_.length += part.time;
  if (label == unexplained_row) {
    out_.residual += part.time;
    if (lacks_launch(node)) out_.unlaunched += part.time;
  }
  if (label == not_recorded_row) out_.not_recorded += part.time;
  if (!delay && graph_.kind[node] == NodeKind::comm) out_.unjoined += part.time;
  keep_if_long(part);
}

std::size_t PathReader::label_of(const Part& part) const {
  if (!part.delay) return label_number(graph_, views_, matches_, part.node);
  return graph_.graph.preds_of(part.node).empty() ? not_recorded_row : unexplained_row;
}

void PathReader::keep_if_long(const Part& part) {
  if (long_.size() == longest_) {
    if (longest_ == 0 || !longer(part, long_.front())) return;
    std::ranges::pop_heap(long_, longer);
    long_.pop_back();
  }
  long_.push_back(part);
  std::ranges::push_heap(long_, longer);
}

void PathReader::list_shares() {
  std::map<std::tuple<int, std::string_view, Phase>, Ns> sums;
  for (std::size_t v = 0; v < shares_.size(); ++v)
    for (std::size_t l = 0; l < labels.size(); ++l)
      for (std::size_t p = 0; p < phase_count; ++p)
        if (shares_[v][l][p] != Ns{0})
          sums[{views_[v].rank, labels[l], static_cast<Phase>(p)}] += shares_[v][l][p];
  for (const auto& [key, time] : sums)
    out_.shares.push_back(
        {std::get<0>(key), std::string(std::get<1>(key)), std::get<2>(key), time});
  std::ranges::stable_sort(out_.shares, std::ranges::greater{}, &PathShare::time);
}

void PathReader::list_longest() {
  std::ranges::sort_heap(long_, longer);
  for (const Part& part : long_)
    out_.longest.push_back(
        {views_[graph_.view[part.node]].rank, std::string(labels[label_of(part)]),
         std::string(row_name(graph_, views_, part.node)), part.from + graph_.origin, part.time});
}

void PathReader::add_slack(std::span<const std::uint32_t> path) {
  std::vector<std::uint32_t> sinks;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (graph_.begin[v] == no_node || graph_.end[v] == no_node) continue;
    const std::uint32_t e = stretch_of(replay_, v, steps_[v]).last;
    if (graph_.clocks_comparable ? replay_.end[e] == to_ : e == path.back()) sinks.push_back(e);
  }
  const std::vector<Ns> free = slack(graph_.graph, replay_.end, sinks);
  std::vector<Ns> least(views_.size(), Ns::max());
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    const NodeKind kind = graph_.kind[n];
    if (!replay_.movable[n] || (kind != NodeKind::compute && kind != NodeKind::host)) continue;
    Ns& of_view = least[graph_.view[n]];
    of_view = std::min(of_view, free[n]);
  }
  std::map<int, RankSlack> ranks;
  for (std::size_t v = 0; v < views_.size(); ++v)
    ranks[views_[v].rank] = {views_[v].rank, least[v], Ns{0}};
  for (const PathShare& share : out_.shares) ranks[share.rank].on_path += share.time;
  for (const auto& [rank, found] : ranks) out_.ranks.push_back(found);
}

CriticalPath PathReader::read() {
  const Stretch stretch = find_stretch(replay_, steps_);
  if (stretch.last == no_node) return {};
  from_ = stretch.begin;
  to_ = replay_.end[stretch.last];
  out_.steps = stretch.steps;
  const auto path = critical_path(graph_.graph, replay_.end, stretch.last);
  std::map<std::pair<int, int>, std::uint64_t> hops;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::uint32_t n = path[i];
    if (replay_.end[n] <= from_) continue;
    ++out_.nodes;
    add(n, replay_.start(n) - replay_.measured.delay(n), replay_.start(n), true);
    add(n, replay_.start(n), replay_.end[n], false);
    if (i == 0) continue;
    const int here = views_[graph_.view[n]].rank;
    const int before = views_[graph_.view[path[i - 1]]].rank;
    if (here != before) ++hops[{before, here}];
  }
  list_shares();
  list_longest();
  for (const auto& [pair, count] : hops) out_.hops.push_back({pair.first, pair.second, count});
  std::ranges::stable_sort(out_.hops, std::ranges::greater{}, &PathHop::count);
  add_slack(path);
  return std::move(out_);
}

}  // namespace

std::string_view row_name(const StepGraph& graph, std::span<const RankView> views,
                          std::uint32_t node) {
  const SliceId slice = graph.slice[node];
  return slice == no_slice ? std::string_view{} : views[graph.view[node]].trace->name(slice);
}

std::string_view label_of(const StepGraph& graph, std::span<const RankView> views,
                          const CollectiveMatches& matches, std::uint32_t node) {
  return labels[label_number(graph, views, matches, node)];
}

CriticalPath find_critical_path(const Replay& replay, std::span<const RankView> views,
                                std::span<const std::vector<Step>> steps,
                                const CollectiveMatches& matches,
                                std::span<const HostPhases> phases, std::size_t longest) {
  return PathReader(replay, views, steps, matches, phases, longest).read();
}

}  // namespace stepscope
