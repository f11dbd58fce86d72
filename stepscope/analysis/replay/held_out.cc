// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/held_out.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/base/parallel_for.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_predictions = 2;
constexpr std::size_t most_predictions = 16;
constexpr double other_work = 0.025;  // of the time of two steps: then their work differs
constexpr std::uint32_t no_step = std::numeric_limits<std::uint32_t>::max();

bool on_device(NodeKind kind) {
  return kind == NodeKind::compute || kind == NodeKind::copy || kind == NodeKind::transfer ||
         kind == NodeKind::comm;
}

bool in_step(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::launch || on_device(kind);
}

struct PlacedNode {
  std::uint32_t node = 0;
  std::uint32_t step = no_step;  // place in the common steps
};

struct StepPart {
  TrackId track{};
  StringId name{};
  NodeKind kind{};
  std::optional<Bytes> bytes{};  // of a message
  PlacedNode at{};

  [[nodiscard]] auto same() const { return std::tuple(track, name, kind, bytes); }
};

// The steps that all views with steps have, by number.
std::vector<std::int64_t> steps_of_all(std::span<const RankView> views) {
  std::map<std::int64_t, std::size_t> ranks;
  std::size_t with_steps = 0;
  for (const RankView& view : views) {
    if (!view.steps.empty()) ++with_steps;
    for (const Step& step : view.steps) ++ranks[step.index];
  }
  std::vector<std::int64_t> common;
  for (const auto& [step, count] : ranks)
    if (count == with_steps) common.push_back(step);
  return common;
}

class Prediction {
 public:
  Prediction(const Replay& replay, std::span<const RankView> views,
             const CollectiveMatches& matches, unsigned threads)
      : replay_(replay),
        graph_(*replay.graph),
        views_(views),
        matches_(matches),
        threads_(threads),
        common_(steps_of_all(views)),
        work_(views.size(), std::vector<StepWork>(common_.size())) {}

  std::optional<HeldOut> run();

 private:
  // A step of a view. Time that it and the next step both have, and that only one of them has.
  struct StepWork {
    Ns paired{};
    Ns unpaired{};
    std::uint32_t first_host = no_node;  // the first to begin
    Ns end = Ns::min();                  // measured
  };
  // A step of the graph with the durations of the step after (0) or before (1) it.
  struct Case {
    std::size_t step = 0;
    std::size_t from = 0;
    [[nodiscard]] std::size_t target() const { return from == 0 ? step + 1 : step - 1; }
  };
  struct Outcome {
    std::size_t target = 0;
    double error = 0;
    double variation = 0;
  };
  void list_nodes();
  void place(std::size_t view);
  void take_durations(std::size_t view);
  void pair(std::span<const StepPart> now, std::span<const StepPart> next,
            std::vector<StepWork>& work);
  [[nodiscard]] std::vector<Case> list_cases() const;
  [[nodiscard]] std::optional<Outcome> predict(const Case& c) const;
  [[nodiscard]] std::vector<NodeChange> changes_of(const Case& c) const;
  [[nodiscard]] bool ends_step(std::size_t view, std::uint32_t node) const {
    return views_[view].index->cpu_only() || on_device(graph_.kind[node]);
  }
  [[nodiscard]] std::span<PlacedNode> nodes_of(std::size_t view) {
    return std::span(nodes_).subspan(first_[view], first_[view + 1] - first_[view]);
  }
  [[nodiscard]] std::span<const PlacedNode> nodes_of(std::size_t view) const {
    return std::span(nodes_).subspan(first_[view], first_[view + 1] - first_[view]);
  }
  // How far the host of a view is ahead of the end of the step before when it begins a step.
  [[nodiscard]] Ns lead(std::size_t view, std::size_t k) const {
    return work_[view][k - 1].end - replay_.start(work_[view][k].first_host);
  }
  [[nodiscard]] std::optional<Bytes> bytes_of(std::uint32_t node) const {
    const NodeKind kind = graph_.kind[node];
    const std::uint32_t row = graph_.detail[node];
    if ((kind != NodeKind::transfer && kind != NodeKind::comm) || row == no_row) return {};
    return matches_.ranks[graph_.view[node]].calls[row].bytes;
  }
  [[nodiscard]] bool follows(std::size_t k) const {
    return k > 0 && common_[k - 1] + 1 == common_[k];
  }
  [[nodiscard]] bool like_next(std::size_t k) const;
  void find_slowest();
  template <class End>
  [[nodiscard]] std::optional<Ns> length(std::size_t k, End&& end) const;

  const Replay& replay_;
  const StepGraph& graph_;
  std::span<const RankView> views_;
  const CollectiveMatches& matches_;
  unsigned threads_;
  std::vector<std::int64_t> common_;
  std::vector<std::vector<StepWork>> work_;  // by view and common step
  std::vector<PlacedNode> nodes_;            // of steps, by view
  std::vector<std::size_t> first_;           // by view, in nodes_
  std::array<std::vector<Ns>, 2> times_;     // by node: durations of the step after, before
  std::optional<std::size_t> slowest_;       // the view that counts if clocks differ
};

void Prediction::list_nodes() {
  const auto counts = [&](std::uint32_t n) {
    return replay_.movable[n] && in_step(graph_.kind[n]) && graph_.slice[n] != no_slice;
  };
  first_.assign(views_.size() + 1, 0);
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (counts(n)) ++first_[graph_.view[n] + std::size_t{1}];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  nodes_.resize(first_.back());
  std::vector<std::size_t> at(first_.begin(), first_.end() - 1);
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (counts(n)) nodes_[at[graph_.view[n]]++].node = n;
}

void Prediction::place(std::size_t view) {
  const RankView& v = views_[view];
  for (PlacedNode& at : nodes_of(view)) {
    const std::int32_t step = launch_step(v, graph_.slice[at.node]);
    if (step < 0) continue;
    const std::int64_t number = v.steps[static_cast<std::size_t>(step)].index;
    const auto place = std::ranges::lower_bound(common_, number);
    if (place == common_.end() || *place != number) continue;
    at.step = static_cast<std::uint32_t>(place - common_.begin());
    std::uint32_t& first = work_[view][at.step].first_host;
    if (graph_.kind[at.node] == NodeKind::host &&
        (first == no_node || replay_.start(at.node) < replay_.start(first)))
      first = at.node;
    if (!ends_step(view, at.node)) continue;
    Ns& end = work_[view][at.step].end;
    end = std::max(end, replay_.end[at.node]);
  }
}

// Parts of one name in two steps that follow each other: the i-th of one is the i-th of the other.
void Prediction::pair(std::span<const StepPart> now, std::span<const StepPart> next,
                      std::vector<StepWork>& work) {
  const auto& duration = graph_.graph.duration;
  const std::size_t both = std::min(now.size(), next.size());
  const auto set = [&](std::vector<Ns>& times, const StepPart& part, Ns time) {
    if (part.kind != NodeKind::comm) times[part.at.node] = time;
  };
  StepWork& w = work[now.empty() ? next.front().at.step - 1 : now.front().at.step];
  for (std::size_t i = 0; i < both; ++i) {
    set(times_[0], now[i], duration[next[i].at.node]);
    set(times_[1], next[i], duration[now[i].at.node]);
    w.paired += duration[now[i].at.node] + duration[next[i].at.node];
  }
  for (const StepPart& part : now.subspan(both)) {
    set(times_[0], part, Ns{0});
    w.unpaired += duration[part.at.node];
  }
  for (const StepPart& part : next.subspan(both)) {
    set(times_[1], part, Ns{0});
    w.unpaired += duration[part.at.node];
  }
}

void Prediction::take_durations(std::size_t view) {
  const Slices& slices = views_[view].trace->slices;
  std::vector<StepPart> parts;
  for (const PlacedNode& at : nodes_of(view)) {
    if (at.step == no_step) continue;
    const std::size_t row = index(graph_.slice[at.node]);
    parts.push_back(
        {slices.track[row], slices.name[row], graph_.kind[at.node], bytes_of(at.node), at});
  }
  std::ranges::sort(parts, {}, [](const StepPart& p) {
    return std::tuple_cat(p.same(), std::tuple(p.at.step, p.at.node));
  });
  const auto run_from = [&](std::size_t first) {
    std::size_t last = first;
    while (last < parts.size() && parts[last].at.step == parts[first].at.step &&
           parts[last].same() == parts[first].same())
      ++last;
    return std::span(parts).subspan(first, last - first);
  };
  // The step after the last one of a name, and the step before the first, lack it.
  const auto without_next = [&](std::span<const StepPart> run) {
    const std::size_t next = run.empty() ? common_.size() : run.front().at.step + std::size_t{1};
    if (next < common_.size() && follows(next)) pair(run, {}, work_[view]);
  };
  std::span<const StepPart> before;
  for (std::size_t i = 0; i < parts.size();) {
    const std::span<const StepPart> now = run_from(i);
    const std::uint32_t step = now.front().at.step;
    const bool next = !before.empty() && before.front().same() == now.front().same() &&
                      before.front().at.step + 1 == step;
    if (!next) without_next(before);
    if (follows(step)) pair(next ? before : std::span<const StepPart>{}, now, work_[view]);
    before = now;
    i += now.size();
  }
  without_next(before);
}

bool Prediction::like_next(std::size_t k) const {
  double paired = 0;
  double unpaired = 0;
  for (const auto& work : work_) {
    paired += static_cast<double>(work[k].paired.count());
    unpaired += static_cast<double>(work[k].unpaired.count());
  }
  return unpaired <= other_work * (paired + unpaired);
}

void Prediction::find_slowest() {
  Ns most{};
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (views_[v].steps.empty()) continue;
    const Ns mean =
        (views_[v].steps.back().end - views_[v].steps.front().start) / std::ssize(views_[v].steps);
    if (mean <= most) continue;
    most = mean;
    slowest_ = v;
  }
}

// From the end of the step before; absent if a view has no end.
template <class End>
std::optional<Ns> Prediction::length(std::size_t k, End&& end) const {
  Ns last = Ns::min();
  Ns before = Ns::min();
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (views_[v].steps.empty() || (slowest_ && v != *slowest_)) continue;
    const Ns own = end(v);
    const Ns own_before = work_[v][k - 1].end;
    if (own == Ns::min() || own_before == Ns::min()) return std::nullopt;
    last = std::max(last, own);
    before = std::max(before, own_before);
  }
  return last > before ? std::optional(last - before) : std::nullopt;
}

std::vector<Prediction::Case> Prediction::list_cases() const {
  std::vector<Case> cases;
  for (std::size_t k = 1; k < common_.size(); ++k)
    for (const std::size_t from : {std::size_t{0}, std::size_t{1}}) {
      const Case c{k, from};
      if (c.target() == 0 || c.target() >= common_.size()) continue;
      const std::size_t earlier = std::min(k, c.target());
      if (follows(earlier) && follows(earlier + 1) && like_next(earlier)) cases.push_back(c);
    }
  const std::size_t every = (cases.size() + most_predictions - 1) / most_predictions;
  std::vector<Case> some;
  for (std::size_t i = 0; i < cases.size(); i += every) some.push_back(cases[i]);
  return some;
}

// The step's own durations become the target's. So does the lead of its hosts.
std::vector<NodeChange> Prediction::changes_of(const Case& c) const {
  std::vector<NodeChange> changes;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const std::uint32_t first = work_[v][c.step].first_host;
    const bool hosts = first != no_node && work_[v][c.target()].first_host != no_node;
    for (const PlacedNode& at : nodes_of(v)) {
      if (at.step != c.step) continue;
      Ns work = times_[c.from][at.node] - graph_.graph.duration[at.node];
      if (hosts && at.node == first) work += lead(v, c.step) - lead(v, c.target());
      if (work != Ns{0}) changes.push_back({at.node, work});
    }
  }
  std::ranges::sort(changes, {}, &NodeChange::node);
  return changes;
}

std::optional<Prediction::Outcome> Prediction::predict(const Case& c) const {
  std::vector<Ns> ends(graph_.size());
  replay(graph_.graph, replay_.work, changes_of(c), ends);
  std::vector<Ns> last(views_.size(), Ns::min());
  for (std::size_t v = 0; v < views_.size(); ++v)
    for (const PlacedNode& at : nodes_of(v))
      if (at.step == c.step && ends_step(v, at.node)) last[v] = std::max(last[v], ends[at.node]);
  const auto measured = [&](std::size_t k) {
    return length(k, [&](std::size_t v) { return work_[v][k].end; });
  };
  const auto was = measured(c.target());
  const auto neighbour = measured(c.step);
  const auto predicted = length(c.step, [&](std::size_t v) { return last[v]; });
  if (!was || !neighbour || !predicted) return std::nullopt;
  const auto off = [&](Ns time) {
    return std::abs(static_cast<double>(time.count()) / static_cast<double>(was->count()) - 1);
  };
  return Outcome{c.target(), off(*predicted), off(*neighbour)};
}

std::optional<HeldOut> Prediction::run() {
  if (common_.size() < least_predictions + 1) return std::nullopt;
  list_nodes();
  times_.fill(graph_.graph.duration);
  parallel_for(views_.size(), threads_, [&](std::size_t v) {
    place(v);
    take_durations(v);
  });
  if (!graph_.together) find_slowest();
  const std::vector<Case> cases = list_cases();
  std::vector<std::optional<Outcome>> outcomes(cases.size());
  parallel_for(cases.size(), threads_, [&](std::size_t i) { outcomes[i] = predict(cases[i]); });
  std::set<std::size_t> steps;
  std::vector<double> errors;
  std::vector<double> variations;
  for (const auto& outcome : outcomes) {
    if (!outcome) continue;
    steps.insert(outcome->target);
    errors.push_back(outcome->error);
    variations.push_back(outcome->variation);
  }
  if (errors.size() < least_predictions) return std::nullopt;
  return HeldOut{steps.size(), *median(errors), *median(variations)};
}

}  // namespace

std::optional<HeldOut> predict_held_out(const Replay& replay, std::span<const RankView> views,
                                        const CollectiveMatches& matches, unsigned threads) {
  return Prediction(replay, views, matches, threads).run();
}

}  // namespace stepscope
