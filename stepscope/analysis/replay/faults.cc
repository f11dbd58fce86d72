// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "stepscope/analysis/replay/cpu_faults.h"
#include "stepscope/analysis/replay/stage_balance.h"
#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/analysis/steps/unseen_host.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_steps = 3;
constexpr std::size_t most_suspects = 8;  // of one kind
constexpr std::int64_t rough_times = 2;
constexpr double least_rough_share = 0.10;  // of the step
constexpr double suspect_share = 0.005;     // of the step: the excess of a suspect
constexpr double slower = 1.03;             // than peers, in three of four steps
constexpr double throttled = 1.05;          // than peers, after the change
constexpr double before_change = 0.35;      // of the later excess, at most, is there before
constexpr double sure = 3;                  // standard errors
constexpr double steady = 0.3;              // of the mean excess, in three of four steps
constexpr double group_slower = 1.08;       // than its siblings
constexpr double stage_more = 1.04;         // than the other stages
constexpr double long_step = 1.15;          // than the median step
constexpr double of_spread = 5;             // median deviations of step times
constexpr double one_of_all = 0.7;          // of what all ranks' data costs: then it is one rank's
constexpr double only_pauses = 0.9;         // of what a late host costs: then it only pauses
constexpr double more_data = 2;             // than the other ranks that load data
constexpr double habit = 1.0 / 3;    // of the gain of fewer calls that wait: they compare nothing
constexpr double many_of_all = 0.5;  // of ranks

using Values = std::vector<double>;

double sum_of(const Values& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean_of(const Values& v) {
  return v.empty() ? 0 : sum_of(v) / static_cast<double>(v.size());
}
double at_quantile(const Values& v, double q) { return quantile(v, q).value_or(0); }

// One rank's work of one part by step, and what its peers need for it, in ns.
struct RankWork {
  Values own;
  Values peers;

  // Without the first step, which does not count in the mean step either: it fills the queues.
  [[nodiscard]] Values excess() const {
    Values e;
    for (std::size_t k = own.size() > 1 ? 1 : 0; k < own.size(); ++k)
      e.push_back(own[k] - peers[k]);
    return e;
  }
  [[nodiscard]] Values ratio() const {
    Values r;
    for (std::size_t k = 0; k < own.size(); ++k)
      if (peers[k] > 0) r.push_back(own[k] / peers[k]);
    return r;
  }
};

// The mean is positive beyond its variation over the values. Two values must be alike.
bool surely_positive(const Values& v) {
  const double mean = mean_of(v);
  if (v.size() < 2 || mean <= 0) return false;
  if (v.size() < least_steps)
    return 2 * *std::ranges::min_element(v) >= *std::ranges::max_element(v);
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  const auto n = static_cast<double>(v.size());
  return mean > sure * std::sqrt(squares / (n - 1) / n);
}

// The first value from which all are larger than all before, by enough.
std::optional<std::size_t> change_point(const Values& ratio) {
  for (std::size_t s = 1; s < ratio.size(); ++s) {
    const auto at = ratio.begin() + static_cast<std::ptrdiff_t>(s);
    const Values before(ratio.begin(), at);
    const Values after(at, ratio.end());
    const double high = *std::ranges::min_element(after);
    if (*std::ranges::max_element(before) >= high) continue;
    const double more = mean_of(after) - 1;
    if (more >= throttled - 1 && mean_of(before) - 1 <= before_change * more &&
        high - 1 >= more / 2)
      return s;
  }
  return std::nullopt;
}

class Search {
 public:
  Search(const WhatIfInputs& in, const Workers& workers, const StopFlag* stop)
      : in_(in), workers_(workers), stop_(stop), step_(in.replay.step) {}

  std::vector<StepFault> run();

 private:
  void find_work();
  void find_data();
  void suspect_compute();
  void suspect_hosts();
  void suspect_cores();
  void suspect_lone_loaders();
  void suspect_data();
  void suspect_pauses();
  void suspect_steps();
  void suspect_step(std::int64_t number, double length, double median);
  [[nodiscard]] std::optional<std::int64_t> step_of_work(std::uint32_t node) const;
  void suspect_groups();
  void suspect_stages();
  void suspect_syncs();
  void suspect_unseen();
  void replay_suspects();
  [[nodiscard]] std::vector<std::size_t> largest_excess(WorkPart part) const;
  [[nodiscard]] double share(double ns) const { return ns / static_cast<double>(step_.count()); }
  [[nodiscard]] std::int64_t step_number(std::size_t view, std::size_t step) const {
    return in_.views[view].steps[step].index;
  }
  // Of a step by the views' common ends; empty without a device.
  [[nodiscard]] std::vector<std::pair<std::int64_t, double>> step_lengths() const;
  void suspect(StepFault fault, std::vector<NodeChange> changes) {
    faults_.push_back(std::move(fault));
    changes_.push_back(std::move(changes));
  }
  void suspect(StepFault fault) {
    std::vector<NodeChange> changes = changes_of(in_, fault.scenario);
    suspect(std::move(fault), std::move(changes));
  }

  const WhatIfInputs& in_;
  Workers workers_;
  const StopFlag* stop_;
  Ns step_;
  std::vector<Pause> pauses_;
  std::vector<std::array<RankWork, work_part_names.size()>> work_;  // by view
  Values data_;                                                     // by view, per step
  std::vector<StepFault> faults_;
  std::vector<std::vector<NodeChange>> changes_;  // parallel
};

void Search::find_work() {
  const StepGraph& graph = *in_.replay.graph;
  work_.resize(in_.views.size());
  for (std::size_t v = 0; v < work_.size(); ++v)
    for (RankWork& w : work_[v]) {
      w.own.resize(in_.views[v].steps.size());
      w.peers.resize(in_.views[v].steps.size());
    }
  for (std::size_t v = 0; v < work_.size(); ++v)
    for (const StepPiece& p : in_.medians.pieces.of(v)) {
      const Ns median = in_.medians.of_node[p.node];
      if (median < Ns{0} || p.step < 0) continue;
      const NodeKind kind = graph.kind[p.node];
      const bool host = kind == NodeKind::host || kind == NodeKind::launch;
      RankWork& w = work_[v][static_cast<std::size_t>(host ? WorkPart::host : WorkPart::compute)];
      w.own[static_cast<std::size_t>(p.step)] +=
          static_cast<double>(time_of(in_.replay, p).count());
      w.peers[static_cast<std::size_t>(p.step)] += static_cast<double>(median.count());
    }
  for (const Pause& p : pauses_)
    if (p.step >= 0 && in_.medians.of_node[p.node] >= Ns{0})
      work_[p.view][static_cast<std::size_t>(WorkPart::host)]
          .own[static_cast<std::size_t>(p.step)] -= static_cast<double>(p.excess.count());
}

void Search::find_data() {
  data_.assign(in_.views.size(), 0);
  const StepGraph& graph = *in_.replay.graph;
  // Without the first step, as in excess().
  const auto first = [](const RankView& view) { return view.steps.size() > 1 ? 1 : 0; };
  for (const NodeChange& c : changes_of(in_, {.change = Change::data_free})) {
    const RankView& view = in_.views[graph.view[c.node]];
    if (graph.slice[c.node] == no_slice || launch_step(view, graph.slice[c.node]) >= first(view))
      data_[graph.view[c.node]] -= static_cast<double>(c.work.count());
  }
  for (std::size_t v = 0; v < data_.size(); ++v) {
    const auto steps = std::ssize(in_.views[v].steps) - first(in_.views[v]);
    data_[v] /= static_cast<double>(std::max<std::ptrdiff_t>(1, steps));
  }
}

// Views whose part takes more than its peers', most first.
std::vector<std::size_t> Search::largest_excess(WorkPart part) const {
  std::vector<std::pair<double, std::size_t>> excess;
  for (std::size_t v = 0; v < work_.size(); ++v) {
    const double mean = mean_of(work_[v][static_cast<std::size_t>(part)].excess());
    if (share(mean) >= suspect_share) excess.emplace_back(mean, v);
  }
  std::ranges::sort(excess, std::greater<>{});
  if (excess.size() > most_suspects) excess.resize(most_suspects);
  std::vector<std::size_t> views;
  for (const auto& [mean, v] : excess) views.push_back(v);
  return views;
}

void Search::suspect_compute() {
  for (const std::size_t v : largest_excess(WorkPart::compute)) {
    const RankWork& w = work_[v][static_cast<std::size_t>(WorkPart::compute)];
    const Values ratio = w.ratio();
    if (ratio.size() < least_steps) continue;
    const int rank = in_.views[v].rank;
    StepFault f{
        .ranks = {rank},
        .scenario = {.change = Change::rank_as_peers, .rank = rank, .part = WorkPart::compute},
        .excess = Ns{std::llround(mean_of(w.excess()))},
        .ratio = sum_of(w.own) / sum_of(w.peers)};
    if (const auto from = change_point(ratio); from && ratio.size() == w.own.size()) {
      f.kind = StepFaultKind::throttling;
      f.steps = {step_number(v, *from)};
      f.ratio = mean_of(Values(ratio.begin() + static_cast<std::ptrdiff_t>(*from), ratio.end()));
      suspect(std::move(f));
    } else {
      f.kind = StepFaultKind::slow_rank;
      f.rough = at_quantile(ratio, 0.25) < slower || !surely_positive(w.excess());
      suspect(std::move(f));
    }
  }
}

void Search::suspect_hosts() {
  for (const std::size_t v : largest_excess(WorkPart::host)) {
    const RankWork& w = work_[v][static_cast<std::size_t>(WorkPart::host)];
    const Values excess = w.excess();
    const bool rough =
        !surely_positive(excess) || at_quantile(excess, 0.25) < steady * mean_of(excess);
    const int rank = in_.views[v].rank;
    Values of_peers;
    for (std::size_t u = 0; u < data_.size(); ++u)
      if (u != v && in_.roles[u] == in_.roles[v]) of_peers.push_back(data_[u]);
    const bool data =
        !of_peers.empty() && data_[v] - at_quantile(of_peers, 0.5) >= mean_of(excess) / 2;
    suspect({.kind = data ? StepFaultKind::data_loader : StepFaultKind::late_host,
             .ranks = {rank},
             .scenario = {.change = Change::rank_as_peers, .rank = rank, .part = WorkPart::host},
             .excess = Ns{std::llround(mean_of(excess))},
             .ratio = sum_of(w.peers) > 0 ? sum_of(w.own) / sum_of(w.peers) : 1,
             .rough = rough});
  }
}

// Ranks without a device.
void Search::suspect_cores() {
  for (StepFault& f : cpu_suspects(in_)) {
    if (f.kind == StepFaultKind::sync_calls)
      suspect(std::move(f), {});  // has its gain
    else
      suspect(std::move(f));
  }
}

// Not all ranks of a job load data: in Megatron, the first of each tensor-parallel group does. A
// rank whose peers load none, and that loads much longer than the other ranks that do, is suspect.
void Search::suspect_lone_loaders() {
  std::map<std::string_view, std::size_t> loaders;  // by role
  for (std::size_t v = 0; v < data_.size(); ++v)
    if (data_[v] > 0) ++loaders[in_.roles[v]];
  for (std::size_t v = 0; v < data_.size(); ++v) {
    if (share(data_[v]) < least_fault_share / 2 || loaders[in_.roles[v]] > 1) continue;
    Values others;
    for (std::size_t u = 0; u < data_.size(); ++u)
      if (u != v && data_[u] > 0) others.push_back(data_[u]);
    if (!others.empty() && data_[v] < more_data * at_quantile(others, 0.5)) continue;
    const int rank = in_.views[v].rank;
    suspect({.kind = StepFaultKind::data_loader,
             .ranks = {rank},
             .scenario = {.change = Change::data_free, .rank = rank},
             .excess = Ns{std::llround(data_[v])}});
  }
}

// The ranks that load data do so for so long that most of them have no time for it beside the step.
void Search::suspect_data() {
  const auto loaders = std::ranges::count_if(data_, [](double time) { return time > 0; });
  const auto loading = std::ranges::count_if(
      data_, [&](double time) { return share(time) >= least_fault_share / 2; });
  if (static_cast<double>(loading) <= many_of_all * static_cast<double>(loaders)) return;
  suspect({.kind = StepFaultKind::data_loader,
           .scenario = {.change = Change::data_free},
           .excess = Ns{std::llround(mean_of(data_))}});
}

void Search::suspect_pauses() {
  if (pauses_.empty()) return;
  std::set<int> ranks;
  std::set<std::int64_t> steps;
  Ns sum{};
  std::size_t most = 1;
  std::vector<FaultPlace> places;
  const StepGraph& graph = *in_.replay.graph;
  for (const Pause& p : pauses_) {
    ranks.insert(in_.views[p.view].rank);
    places.push_back({in_.views[p.view].rank, graph.origin + in_.replay.start(p.node),
                      graph.graph.duration[p.node]});
    if (p.step >= 0) steps.insert(step_number(p.view, static_cast<std::size_t>(p.step)));
    most = std::max(most, in_.views[p.view].steps.size());
    sum += p.excess;
  }
  std::ranges::sort(places, {}, [](const FaultPlace& p) { return std::pair(p.start, p.rank); });
  suspect({.kind = StepFaultKind::pauses,
           .ranks = {ranks.begin(), ranks.end()},
           .steps = {steps.begin(), steps.end()},
           .scenario = {.change = Change::pauses_free},
           .excess = sum / static_cast<std::int64_t>(most),
           .count = pauses_.size(),
           .places = std::move(places)},
          without_pauses(in_, pauses_));
}

std::vector<std::pair<std::int64_t, double>> Search::step_lengths() const {
  std::vector<std::pair<std::int64_t, double>> lengths;
  const auto& ends = in_.replay.graph->step_ends;
  if (!in_.replay.graph->together) return lengths;
  const auto last = [](const StepEnd& s) { return *std::ranges::max_element(s.measured); };
  for (std::size_t k = 1; k < ends.size(); ++k)
    if (ends[k].follows)
      lengths.emplace_back(ends[k].index,
                           static_cast<double>((last(ends[k]) - last(ends[k - 1])).count()));
  return lengths;
}

// Steps that are much longer than the median, unless they are many.
void Search::suspect_steps() {
  const auto lengths = step_lengths();
  if (lengths.size() < least_steps) return;
  Values all;
  for (const auto& [number, length] : lengths) all.push_back(length);
  const double median = at_quantile(all, 0.5);
  Values deviation;
  for (const double x : all) deviation.push_back(std::abs(x - median));
  const double spread = at_quantile(deviation, 0.5);
  std::vector<std::pair<double, std::int64_t>> outliers;
  std::size_t events = 0;  // long work may reach into the next step
  std::int64_t reaches = std::numeric_limits<std::int64_t>::min();
  for (const auto& [number, length] : lengths) {
    if (length <= long_step * median || length - median <= of_spread * spread) continue;
    outliers.emplace_back(length, number);
    if (number <= reaches) continue;
    ++events;
    reaches = number + 1;
  }
  if (events == 0 || events > std::max<std::size_t>(1, lengths.size() / 4)) return;
  std::ranges::sort(outliers, std::greater<>{});
  // The host may run a step ahead: what holds the device in a step may be work of the one before.
  for (const auto& [length, number] : outliers) {
    suspect_step(number, length, median);
    suspect_step(number - 1, length, median);
  }
}

void Search::suspect_step(std::int64_t number, double length, double median) {
  std::vector<NodeChange> changes = step_like_others(in_, number);
  const StepGraph& graph = *in_.replay.graph;
  Values more(in_.views.size(), 0);  // by view: what the step has more work than the others
  NodeChange largest;
  for (const NodeChange& c : changes) {
    const NodeKind kind = graph.kind[c.node];
    if (kind == NodeKind::transfer || kind == NodeKind::comm) continue;
    more[graph.view[c.node]] -= static_cast<double>(c.work.count());
    if (c.work < largest.work) largest = c;
  }
  const double most = *std::ranges::max_element(more);
  const auto with = std::ranges::count_if(more, [&](double x) { return x >= most / 2; });
  const bool few =
      more.size() > 2 && static_cast<double>(with) < many_of_all * static_cast<double>(more.size());
  // Longer work of few ranks is a pause, or a slow rank. Host work that no other step has is of the
  // step even there: one rank writes the checkpoint.
  const NodeKind kind = graph.kind[largest.node];
  const bool pauses_elsewhere = std::ranges::any_of(pauses_, [&](const Pause& p) {
    return p.step < 0 || step_number(p.view, static_cast<std::size_t>(p.step)) != number;
  });
  const bool of_host = (kind == NodeKind::host || kind == NodeKind::launch) && !pauses_elsewhere;
  if (most <= 0 || (few && !of_host)) return;
  suspect({.kind = StepFaultKind::outlier_step,
           .steps = {step_of_work(largest.node).value_or(number)},
           .scenario = {.change = Change::step_as_others, .step = number},
           .excess = Ns{std::llround(length - median)},
           .ratio = length / median},
          std::move(changes));
}

// Number of the step in whose annotation the middle of a host node lies.
std::optional<std::int64_t> Search::step_of_work(std::uint32_t node) const {
  const StepGraph& graph = *in_.replay.graph;
  if (graph.kind[node] != NodeKind::host) return std::nullopt;
  const RankView& view = in_.views[graph.view[node]];
  const Ns middle = graph.origin + in_.replay.start(node) + graph.graph.duration[node] / 2;
  const auto after = std::ranges::upper_bound(view.steps, middle, {}, &Step::host_start);
  if (after == view.steps.begin()) return std::nullopt;
  return (after - 1)->index;
}

void Search::suspect_groups() {
  std::vector<GroupRatio> ratios = group_ratios(in_);
  std::ranges::sort(ratios, std::greater<>{}, [](const GroupRatio& r) {
    return static_cast<double>(r.time.count()) * (1 - 1 / r.ratio);
  });
  std::size_t tried = 0;
  for (const GroupRatio& r : ratios) {
    if (r.ratio < group_slower || tried++ == most_suspects) continue;
    const CommGroup& group = in_.collectives.matches.groups[r.group];
    const bool shared_name =
        std::ranges::count(in_.collectives.matches.groups, group.name, &CommGroup::name) > 1;
    Scenario scenario{.change = Change::group_as_siblings, .group = group.name};
    if (shared_name && !group.ranks.empty()) scenario.rank = group.ranks.front();
    suspect({.kind = StepFaultKind::slow_group,
             .ranks = group.ranks,
             .group = r.group,
             .scenario = std::move(scenario),
             .ratio = r.ratio},
            group_like_siblings(in_, r.group));
  }
}

void Search::suspect_stages() {
  const auto ratios = stage_ratios(in_);
  const auto most =
      std::ranges::max_element(ratios, {}, [](const auto& stage) { return stage.second.work; });
  if (most == ratios.end() || most->second.work < stage_more || !most->second.movable) return;
  const std::string_view name = most->first;  // "pp1"
  int stage = -1;
  std::from_chars(name.data() + std::min<std::size_t>(2, name.size()), name.data() + name.size(),
                  stage);
  std::vector<int> ranks;
  for (std::size_t v = 0; v < in_.views.size(); ++v)
    if (stage_of(in_.roles[v]) == name) ranks.push_back(in_.views[v].rank);
  std::ranges::sort(ranks);
  StepFault f{.kind = StepFaultKind::stage_imbalance,
              .ranks = std::move(ranks),
              .stage = stage >= 0 ? std::optional(stage) : std::nullopt,
              .scenario = {.change = Change::stages_balanced},
              .ratio = most->second.work};
  // A stage of one rank that runs as many calls as the others is that rank's slowness.
  if (f.ranks.size() > 1 || most->second.layers) suspect(std::move(f));
}

void Search::suspect_syncs() {
  std::vector<NodeChange> changes = without_repeated_syncs(in_);
  std::size_t steps = 0;
  for (const RankView& view : in_.views) steps += view.steps.size();
  if (steps == 0 || changes.size() < steps / 2) return;
  StepFault f{.kind = StepFaultKind::sync_calls,
              .scenario = {.change = Change::syncs_once},
              .count = changes.size() / steps};
  suspect(std::move(f), std::move(changes));
}

void Search::suspect_unseen() {
  std::vector<NodeChange> changes = changes_of(in_, {.change = Change::unseen_free});
  if (changes.empty()) return;
  std::optional<UnseenWork> work = unseen_work(in_.views);
  if (!work) return;
  suspect({.kind = StepFaultKind::unseen_host,
           .ranks = std::move(work->ranks),
           .scenario = {.change = Change::unseen_free},
           .excess = work->of_step,
           .between = std::move(work->between)},
          std::move(changes));
}

void Search::replay_suspects() {
  std::vector<WorkChange> changes;
  std::vector<StepFault*> suspects;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (changes_[i].empty()) continue;
    changes.emplace_back(changes_[i]);
    suspects.push_back(&faults_[i]);
  }
  std::vector<Ns> steps(changes.size(), step_);
  shared_stretches(steps, workers_, most_replays, [&](std::size_t first, std::size_t count) {
    if (stop_ != nullptr && stop_->requested()) return;
    std::ranges::copy(replay_steps(in_.replay, in_.replay.measured.work,
                                   std::span(changes).subspan(first, count)),
                      steps.begin() + static_cast<std::ptrdiff_t>(first));
  });
  for (std::size_t i = 0; i < steps.size(); ++i) suspects[i]->gain = step_ - steps[i];
}

std::vector<StepFault> Search::run() {
  if (step_ <= Ns{0}) return {};
  pauses_ = find_pauses(in_);
  find_work();
  find_data();
  const bool cpu =
      std::ranges::all_of(in_.views, [](const RankView& v) { return v.index->cpu_only(); });
  if (cpu) {
    suspect_cores();
  } else {
    suspect_compute();
    suspect_hosts();
  }
  suspect_lone_loaders();
  suspect_data();
  suspect_pauses();
  suspect_steps();
  suspect_groups();
  suspect_stages();
  if (!cpu) {
    suspect_syncs();  // before what they expose
    suspect_unseen();
  }
  replay_suspects();
  std::erase_if(faults_, [&](const StepFault& f) {
    // Else it is mostly hidden: the host may have waited for the device unseen.
    if (f.kind == StepFaultKind::unseen_host && 2 * f.gain < f.excess) return true;
    return share(static_cast<double>(f.gain.count())) <
           (f.rough ? least_rough_share : least_fault_share);
  });
  // What the steps do not show evenly is named only where it costs a multiple of what they do.
  Ns even{};
  for (const StepFault& f : faults_)
    if (!f.rough) even = std::max(even, f.gain);
  std::erase_if(faults_,
                [&](const StepFault& f) { return f.rough && f.gain < rough_times * even; });
  // Calls that wait for the device also expose what the host does between them.
  Ns of_syncs{};
  for (const StepFault& f : faults_)
    if (f.kind == StepFaultKind::sync_calls) of_syncs = std::max(of_syncs, f.gain);
  std::ranges::stable_sort(faults_, std::ranges::greater{}, [&](const StepFault& f) {
    const bool exposed = f.kind == StepFaultKind::unseen_host && 2 * of_syncs >= f.gain;
    const auto gain = static_cast<double>((exposed ? std::min(f.gain, of_syncs) : f.gain).count());
    return f.kind == StepFaultKind::sync_calls || exposed ? habit * gain : gain;
  });
  // One step is named once, and pauses of one step are that step.
  const auto outlier = std::ranges::find(faults_, StepFaultKind::outlier_step, &StepFault::kind);
  if (outlier != faults_.end()) {
    const std::vector<std::int64_t> steps = outlier->steps;
    std::erase_if(faults_, [&, first = true](const StepFault& f) mutable {
      const bool again =
          f.kind == StepFaultKind::outlier_step && f.steps == steps && !std::exchange(first, false);
      return again || (f.kind == StepFaultKind::pauses && f.steps == steps);
    });
  }
  // A rank that is late only because of its pauses is not late otherwise.
  if (const auto p = std::ranges::find(faults_, StepFaultKind::pauses, &StepFault::kind);
      p != faults_.end()) {
    std::vector<int> ranks = p->ranks;
    const Ns gain = p->gain;
    std::erase_if(faults_, [&](const StepFault& f) {
      return f.kind == StepFaultKind::late_host && f.ranks.size() == 1 &&
             std::ranges::find(ranks, f.ranks.front()) != ranks.end() &&
             static_cast<double>(gain.count()) >= only_pauses * static_cast<double>(f.gain.count());
    });
  }
  // Loading data is host time: a host is late beside its loader only if that costs more.
  std::vector<StepFault> loaders;
  std::ranges::copy_if(faults_, std::back_inserter(loaders), [](const StepFault& f) {
    return f.kind == StepFaultKind::data_loader && !f.ranks.empty();
  });
  std::erase_if(faults_, [&](const StepFault& f) {
    return f.kind == StepFaultKind::late_host &&
           std::ranges::any_of(loaders, [&](const StepFault& data) {
             return data.ranks == f.ranks &&
                    share(static_cast<double>((f.gain - data.gain).count())) < least_fault_share;
           });
  });
  // One rank's data is also all ranks' data.
  const auto one = std::ranges::find_if(faults_, [](const StepFault& f) {
    return f.kind == StepFaultKind::data_loader && !f.ranks.empty();
  });
  if (one != faults_.end()) {
    const Ns gain = one->gain;
    std::erase_if(faults_, [&](const StepFault& f) {
      return f.kind == StepFaultKind::data_loader && f.ranks.empty() &&
             static_cast<double>(gain.count()) >= one_of_all * static_cast<double>(f.gain.count());
    });
  }
  return std::move(faults_);
}

}  // namespace

std::vector<StepFault> find_faults(const WhatIfInputs& inputs, const Workers& workers,
                                   const StopFlag* stop) {
  return Search(inputs, workers, stop).run();
}

}  // namespace stepscope
