// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/path_share.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stepscope {
namespace {

// The end that the job waits for.
std::uint32_t last_end(const StepGraph& graph, std::span<const Ns> end, std::uint32_t& begin) {
  std::uint32_t last = no_node;
  Ns best{};
  Ns first_begin = Ns::max();
  begin = no_node;
  for (std::size_t v = 0; v < graph.end.size(); ++v) {
    if (graph.begin[v] == no_node || graph.end[v] == no_node) continue;
    const Ns from = end[graph.begin[v]] - graph.graph.duration[graph.begin[v]];
    const Ns rank = graph.together
                        ? end[graph.end[v]]
                        : (end[graph.end[v]] - from) / static_cast<std::int64_t>(graph.steps[v]);
    if (last == no_node || rank > best) {
      last = graph.end[v];
      best = rank;
      if (!graph.together) begin = graph.begin[v];
    }
    if (graph.together && from < first_begin) {
      first_begin = from;
      begin = graph.begin[v];
    }
  }
  return last;
}

class PathReader {
 public:
  PathReader(const Replay& replay, std::span<const RankView> views,
             const CollectiveMatches& matches, std::span<const HostPhases> phases)
      : replay_(replay), graph_(*replay.graph), views_(views), matches_(matches), phases_(phases) {}

  CriticalPath read(std::size_t longest);

 private:
  void add(std::uint32_t node, Ns from, Ns to, bool delay);
  [[nodiscard]] Phase phase_of(std::uint32_t node) const;
  void add_slack(std::span<const std::uint32_t> path);

  const Replay& replay_;
  const StepGraph& graph_;
  std::span<const RankView> views_;
  const CollectiveMatches& matches_;
  std::span<const HostPhases> phases_;
  Ns from_{};
  Ns to_{};
  std::map<std::tuple<int, std::string_view, Phase>, Ns> shares_;
  CriticalPath out_;
};

// Of the launch behind the operation, else of the row itself.
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

void PathReader::add(std::uint32_t node, Ns from, Ns to, bool delay) {
  from = std::max(from, from_);
  to = std::min(to, to_);
  if (from >= to) return;
  const int rank = views_[graph_.view[node]].rank;
  const bool first = graph_.graph.preds_of(node).empty();
  const std::string_view label = !delay  ? label_of(graph_, views_, matches_, node)
                                 : first ? std::string_view("not recorded")
                                         : std::string_view("unexplained");
  shares_[{rank, label, phase_of(node)}] += to - from;
  out_.length += to - from;
  if (delay && !first) out_.residual += to - from;
  out_.longest.push_back(
      {rank, label, std::string(row_name(graph_, views_, node)), from + graph_.origin, to - from});
}

void PathReader::add_slack(std::span<const std::uint32_t> path) {
  std::vector<std::uint32_t> sinks;
  for (const std::uint32_t e : graph_.end)
    if (e != no_node && (graph_.together ? replay_.end[e] == to_ : e == path.back()))
      sinks.push_back(e);
  const std::vector<Ns> free =
      slack(graph_.graph, replay_.measured.duration, replay_.measured.delay, replay_.end, sinks);
  std::map<int, RankSlack> ranks;
  for (const RankView& view : views_) ranks[view.rank] = {view.rank, Ns::max(), Ns{0}};
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    const NodeKind kind = graph_.kind[n];
    if (!replay_.movable[n] || (kind != NodeKind::compute && kind != NodeKind::host)) continue;
    Ns& least = ranks[views_[graph_.view[n]].rank].slack;
    least = std::min(least, free[n]);
  }
  for (const auto& [key, time] : shares_) ranks[std::get<0>(key)].on_path += time;
  for (const auto& [rank, found] : ranks) out_.ranks.push_back(found);
}

CriticalPath PathReader::read(std::size_t longest) {
  std::uint32_t begin = no_node;
  const std::uint32_t last = last_end(graph_, replay_.end, begin);
  if (last == no_node) return {};
  from_ = replay_.end[begin] - replay_.measured.duration[begin];
  to_ = replay_.end[last];
  const auto path = critical_path(graph_.graph, replay_.end, last);
  std::map<std::pair<int, int>, std::uint64_t> hops;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::uint32_t n = path[i];
    if (replay_.end[n] <= from_) continue;
    ++out_.nodes;
    add(n, replay_.start[n] - replay_.measured.delay[n], replay_.start[n], true);
    add(n, replay_.start[n], replay_.end[n], false);
    if (i == 0) continue;
    const int here = views_[graph_.view[n]].rank;
    const int before = views_[graph_.view[path[i - 1]]].rank;
    if (here != before) ++hops[{before, here}];
  }
  for (const auto& [key, time] : shares_)
    out_.shares.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), time});
  std::ranges::stable_sort(out_.shares, std::ranges::greater{}, &PathShare::time);
  std::ranges::stable_sort(out_.longest, std::ranges::greater{}, &PathPiece::time);
  if (out_.longest.size() > longest) out_.longest.resize(longest);
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
  const NodeKind kind = graph.kind[node];
  if (kind == NodeKind::comm || kind == NodeKind::transfer) {
    const std::uint32_t row = graph.detail[node];
    if (row == no_row) return "communication";
    const CollectiveKind c = matches.ranks[graph.view[node]].calls[row].kind;
    return c == CollectiveKind::unknown ? "communication"
                                        : collective_kind_names[static_cast<std::size_t>(c)];
  }
  if (kind == NodeKind::compute && graph.slice[node] != no_slice) {
    const Trace& t = *views[graph.view[node]].trace;
    const auto name = index(t.slices.name[index(graph.slice[node])]);
    const bool device = is_device_work(t.slices.category[index(graph.slice[node])]);
    return name_class_names[static_cast<std::size_t>(device ? t.kernel_class[name]
                                                            : t.operator_class[name])];
  }
  return node_kind_names[static_cast<std::size_t>(kind)];
}

CriticalPath find_critical_path(const Replay& replay, std::span<const RankView> views,
                                const CollectiveMatches& matches,
                                std::span<const HostPhases> phases, std::size_t longest) {
  return PathReader(replay, views, matches, phases).read(longest);
}

}  // namespace stepscope
