// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/held_out.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "stepscope/base/crew.h"
#include "stepscope/base/key_index.h"
#include "stepscope/base/run_sort.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_predictions = 2;
constexpr std::size_t most_predictions = 16;
constexpr double other_work = 0.025;  // of the time of two steps: then their work differs
// Predicted changes that are smaller relative to the errors leave the slope's own error above 1,
// with eight predictions whose errors are as often above as below.
constexpr double visible_change = 0.5;
constexpr std::uint32_t no_piece = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t no_step = std::numeric_limits<std::uint32_t>::max();

bool on_device(NodeKind kind) {
  return kind == NodeKind::compute || kind == NodeKind::copy || kind == NodeKind::transfer ||
         kind == NodeKind::comm;
}

struct StepPart {
  std::uint32_t same = 0;        // number of thread or stream, name, kind, part and message size
  std::uint32_t step = no_step;  // place in the common steps
  std::uint32_t piece = 0;       // in StepPieces::all
};

// Stable, by one of its numbers below `count`.
void counting_sort(std::vector<StepPart>& parts, std::uint32_t StepPart::* by, std::size_t count) {
  if (std::ranges::is_sorted(parts, {}, by)) return;
  std::vector<std::size_t> next(count + 1);
  for (const StepPart& p : parts) ++next[p.*by + std::size_t{1}];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<StepPart> sorted(parts.size());
  for (const StepPart& p : parts) sorted[next[p.*by]++] = p;
  parts = std::move(sorted);
}

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
             const CollectiveMatches& matches, const StepPieces& pieces, const Workers& workers)
      : replay_(replay),
        graph_(*replay.graph),
        views_(views),
        matches_(matches),
        pieces_(pieces),
        workers_(workers),
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
  // Changes from the neighbour's length, as shares of the target's.
  struct Outcome {
    std::size_t target = 0;
    double predicted = 0;
    double measured = 0;
  };
  [[nodiscard]] static std::optional<double> fulfilled(std::span<const Outcome> outcomes);
  [[nodiscard]] std::vector<std::uint32_t> places_of_steps(std::size_t view) const;
  void find_ends(std::size_t view);
  [[nodiscard]] std::uint64_t same_as(std::size_t view, std::size_t piece) const;
  void take_durations(std::size_t view);
  void pair(std::span<const StepPart> now, std::span<const StepPart> next,
            std::vector<StepWork>& work);
  [[nodiscard]] std::vector<Case> list_cases() const;
  [[nodiscard]] std::vector<KeptEnd> ends_of_steps() const;
  [[nodiscard]] std::optional<Outcome> judge(const Case& c, std::span<const Ns> last) const;
  void predict(std::span<const Case> cases, std::span<const KeptEnd> kept,
               std::span<std::optional<Outcome>> outcomes) const;
  [[nodiscard]] std::vector<NodeChange> changes_of(const Case& c) const;
  [[nodiscard]] bool ends_step(std::size_t view, std::uint32_t node) const {
    return views_[view].index->cpu_only() || on_device(graph_.kind[node]);
  }
  // The place of a piece's step in the common steps.
  [[nodiscard]] std::uint32_t place(std::size_t view, const StepPiece& piece) const {
    return piece.step < 0 ? no_step : place_[view][static_cast<std::size_t>(piece.step)];
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
  const StepPieces& pieces_;
  Workers workers_;
  std::vector<std::int64_t> common_;
  std::vector<std::vector<StepWork>> work_;        // by view and common step
  std::vector<std::vector<std::uint32_t>> place_;  // by view and step: in common_, or no_step
  // By piece: its partner in the step after (0) or before (1) it, itself if it keeps its duration,
  // no_piece if that step lacks it.
  std::array<std::vector<std::uint32_t>, 2> partner_;
  std::vector<Ns> duration_;  // by piece, of its node
  struct ViewPieces {
    std::vector<std::uint32_t> piece;  // in StepPieces::all; by common step, then by node
    std::vector<std::size_t> first;    // by common step: in `piece`; plus the end
  };
  std::vector<ViewPieces> of_steps_;    // by view
  std::optional<std::size_t> slowest_;  // the view that counts if clocks differ
};

std::vector<std::uint32_t> Prediction::places_of_steps(std::size_t view) const {
  std::vector<std::uint32_t> places;
  for (const Step& step : views_[view].steps) {
    const auto at = std::ranges::lower_bound(common_, step.index);
    const bool found = at != common_.end() && *at == step.index;
    places.push_back(found ? static_cast<std::uint32_t>(at - common_.begin()) : no_step);
  }
  return places;
}

void Prediction::find_ends(std::size_t view) {
  for (const StepPiece& p : pieces_.of(view)) {
    const std::uint32_t step = place(view, p);
    if (step == no_step) continue;
    std::uint32_t& first = work_[view][step].first_host;
    if (graph_.kind[p.node] == NodeKind::host &&
        (first == no_node || replay_.start(p.node) < replay_.start(first)))
      first = p.node;
    if (!ends_step(view, p.node)) continue;
    Ns& end = work_[view][step].end;
    end = std::max(end, replay_.end[p.node]);
  }
}

// Parts of one name in two steps that follow each other: the i-th of one is the i-th of the other.
void Prediction::pair(std::span<const StepPart> now, std::span<const StepPart> next,
                      std::vector<StepWork>& work) {
  const std::size_t both = std::min(now.size(), next.size());
  const auto set = [&](std::size_t from, const StepPart& part, std::uint32_t partner) {
    partner_[from][part.piece] = partner;
  };
  StepWork& w = work[now.empty() ? next.front().step - 1 : now.front().step];
  for (std::size_t i = 0; i < both; ++i) {
    set(0, now[i], next[i].piece);
    set(1, next[i], now[i].piece);
    w.paired += duration_[now[i].piece] + duration_[next[i].piece];
  }
  for (const StepPart& part : now.subspan(both)) {
    set(0, part, no_piece);
    w.unpaired += duration_[part.piece];
  }
  for (const StepPart& part : next.subspan(both)) {
    set(1, part, no_piece);
    w.unpaired += duration_[part.piece];
  }
}

std::uint64_t Prediction::same_as(std::size_t view, std::size_t piece) const {
  const Slices& slices = views_[view].trace->slices;
  const std::uint32_t node = pieces_.all[piece].node;
  const std::size_t row = index(graph_.slice[node]);
  // Any of a pool of threads takes a call without a device.
  const bool pooled = views_[view].index->cpu_only() && is_message(graph_.kind[node]);
  const std::uint64_t track = pooled ? 0 : std::uint64_t{index(slices.track[row])} + 1;
  const std::uint64_t place = (track << 32U) | std::uint64_t{index(slices.name[row])};
  const auto bytes = bytes_of(node);
  const std::uint64_t size = bytes ? static_cast<std::uint64_t>(bytes->value) + 1 : 0;
  const auto kind = static_cast<std::uint64_t>(graph_.kind[node]);
  return hash_pair(hash_pair(hash_pair(place, kind), size), pieces_.part[piece]);
}

void Prediction::take_durations(std::size_t view) {
  std::vector<StepPart> parts;
  parts.reserve(pieces_.of(view).size());
  KeyIndex<std::uint64_t, std::identity> numbers;  // of hashes
  ViewPieces& of_steps = of_steps_[view];
  of_steps.first.assign(common_.size() + 1, 0);
  for (std::size_t i = pieces_.first[view]; i < pieces_.first[view + 1]; ++i) {
    const StepPiece& p = pieces_.all[i];
    const auto piece = static_cast<std::uint32_t>(i);
    for (std::vector<std::uint32_t>& partner : partner_) partner[i] = piece;
    duration_[i] = graph_.graph.duration[p.node];
    const std::uint32_t step = place(view, p);
    if (step == no_step) continue;
    parts.push_back({numbers.insert(same_as(view, i)).first, step, piece});
    ++of_steps.first[step + std::size_t{1}];
  }
  counting_sort(parts, &StepPart::step, common_.size());
  std::partial_sum(of_steps.first.begin(), of_steps.first.end(), of_steps.first.begin());
  of_steps.piece.reserve(parts.size());
  for (const StepPart& part : parts) of_steps.piece.push_back(part.piece);
  counting_sort(parts, &StepPart::same, numbers.size());
  const auto run_from = [&](std::size_t first) {
    std::size_t last = first;
    while (last < parts.size() && parts[last].step == parts[first].step &&
           parts[last].same == parts[first].same)
      ++last;
    return std::span(parts).subspan(first, last - first);
  };
  // The step after the last one of a name, and the step before the first, lack it.
  const auto without_next = [&](std::span<const StepPart> run) {
    const std::size_t next = run.empty() ? common_.size() : run.front().step + std::size_t{1};
    if (next < common_.size() && follows(next)) pair(run, {}, work_[view]);
  };
  std::span<const StepPart> before;
  for (std::size_t i = 0; i < parts.size();) {
    const std::span<const StepPart> now = run_from(i);
    const std::uint32_t step = now.front().step;
    const bool next = !before.empty() && before.front().same == now.front().same &&
                      before.front().step + 1 == step;
    if (!next) without_next(before);
    if (follows(step)) pair(next ? before : std::span<const StepPart>{}, now, work_[view]);
    before = now;
    i += now.size();
  }
  without_next(before);
  for (std::size_t i = pieces_.first[view]; i < pieces_.first[view + 1]; ++i)
    if (graph_.kind[pieces_.all[i].node] == NodeKind::comm)
      for (std::vector<std::uint32_t>& partner : partner_)
        partner[i] = static_cast<std::uint32_t>(i);
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
    const ViewPieces& of_steps = of_steps_[v];
    for (std::size_t k = of_steps.first[c.step]; k < of_steps.first[c.step + 1]; ++k) {
      const std::uint32_t i = of_steps.piece[k];
      const StepPiece& p = pieces_.all[i];
      const std::uint32_t partner = partner_[c.from][i];
      Ns work = -graph_.graph.duration[p.node];
      if (partner != no_piece) work += graph_.graph.duration[pieces_.all[partner].node];
      if (hosts && p.node == first) work += lead(v, c.step) - lead(v, c.target());
      if (work != Ns{0}) changes.emplace_back(p.node, work);
    }
  }
  run_sort(changes, [](const NodeChange& a, const NodeChange& b) { return a.node < b.node; });
  return changes;
}

// The ends of steps, by view and common step.
std::vector<KeptEnd> Prediction::ends_of_steps() const {
  std::vector<KeptEnd> kept;
  for (std::size_t v = 0; v < views_.size(); ++v)
    for (const StepPiece& p : pieces_.of(v))
      if (const std::uint32_t step = place(v, p); step != no_step && ends_step(v, p.node))
        kept.push_back({p.node, static_cast<std::uint32_t>(v * common_.size()) + step});
  run_sort(kept, [](const KeptEnd& a, const KeptEnd& b) { return a.node < b.node; });
  return kept;
}

// `last`: the replayed end of the case's step, by view.
std::optional<Prediction::Outcome> Prediction::judge(const Case& c,
                                                     std::span<const Ns> last) const {
  const auto measured = [&](std::size_t k) {
    return length(k, [&](std::size_t v) { return work_[v][k].end; });
  };
  const auto was = measured(c.target());
  const auto neighbour = measured(c.step);
  const auto predicted = length(c.step, [&](std::size_t v) { return last[v]; });
  if (!was || !neighbour || !predicted) return std::nullopt;
  const auto change = [&](Ns time) {
    return static_cast<double>((time - *neighbour).count()) / static_cast<double>(was->count());
  };
  return Outcome{c.target(), change(*predicted), change(*was)};
}

// Few enough cases to be replayed at once.
void Prediction::predict(std::span<const Case> cases, std::span<const KeptEnd> kept,
                         std::span<std::optional<Outcome>> outcomes) const {
  std::vector<std::vector<NodeChange>> changes;
  for (const Case& c : cases) changes.push_back(changes_of(c));
  const std::vector<WorkChange> replays(changes.begin(), changes.end());
  std::vector<Ns> ends(views_.size() * common_.size() * cases.size());
  replay_changes(graph_.graph, replay_.program, replay_.measured.work, replays, kept, ends);
  std::vector<Ns> last(views_.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t v = 0; v < views_.size(); ++v)
      last[v] = ends[(v * common_.size() + cases[i].step) * cases.size() + i];
    outcomes[i] = judge(cases[i], last);
  }
}

std::optional<HeldOut> Prediction::run() {
  if (common_.size() < least_predictions + 1) return std::nullopt;
  for (std::size_t v = 0; v < views_.size(); ++v) place_.push_back(places_of_steps(v));
  for (std::vector<std::uint32_t>& partner : partner_) partner.resize(pieces_.all.size());
  duration_.resize(pieces_.all.size());
  of_steps_.resize(views_.size());
  parallel_for(views_.size(), workers_.threads, [&](std::size_t v) {
    find_ends(v);
    take_durations(v);
  });
  if (!graph_.clocks_comparable) find_slowest();
  const std::vector<Case> cases = list_cases();
  std::vector<std::optional<Outcome>> outcomes(cases.size());
  const std::vector<KeptEnd> kept = ends_of_steps();
  shared_stretches(outcomes, workers_, most_replays, [&](std::size_t first, std::size_t count) {
    predict(std::span(cases).subspan(first, count), kept,
            std::span(outcomes).subspan(first, count));
  });
  std::vector<Outcome> judged;
  for (const auto& outcome : outcomes)
    if (outcome) judged.push_back(*outcome);
  if (judged.size() < least_predictions) return std::nullopt;
  std::set<std::size_t> steps;
  std::vector<double> errors;
  std::vector<double> variations;
  for (const Outcome& o : judged) {
    steps.insert(o.target);
    errors.push_back(std::abs(o.predicted - o.measured));
    variations.push_back(std::abs(o.measured));
  }
  return HeldOut{steps.size(), *median(errors), *median(variations), fulfilled(judged)};
}

// The weighted median of measured / predicted, by |predicted|, minimises the sum of
// |measured − slope · predicted|.
std::optional<double> Prediction::fulfilled(std::span<const Outcome> outcomes) {
  std::vector<std::pair<double, double>> slopes;  // and weights
  double changes = 0;
  double errors = 0;
  for (const Outcome& o : outcomes) {
    changes += std::abs(o.predicted);
    errors += std::abs(o.predicted - o.measured);
    if (o.predicted != 0) slopes.emplace_back(o.measured / o.predicted, std::abs(o.predicted));
  }
  if (slopes.empty() || changes < visible_change * errors) return std::nullopt;
  std::ranges::sort(slopes);
  double below = 0;
  for (const auto& [slope, weight] : slopes)
    if (below += weight; 2 * below >= changes) return slope;
  return slopes.back().first;
}

}  // namespace

std::optional<HeldOut> predict_held_out(const Replay& replay, std::span<const RankView> views,
                                        const CollectiveMatches& matches, const StepPieces& pieces,
                                        const Workers& workers) {
  return Prediction(replay, views, matches, pieces, workers).run();
}

}  // namespace stepscope
