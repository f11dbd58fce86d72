// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/critical_path.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace stepscope {
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
