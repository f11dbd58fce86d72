// SPDX-License-Identifier: Apache-2.0
// Suspects come from the evidence: a rank's part that takes more than at its peers, rare long work,
// one long step, one slow process group, an uneven stage, calls that wait. Each is replayed without
// its excess. The largest gain is named first, and the others are asked again without it: what it
// explains is not named a second time.
#include "stepscope/analysis/replay/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "stepscope/analysis/replay/early_waits.h"
#include "stepscope/analysis/replay/evidence.h"
#include "stepscope/analysis/replay/fault_candidate.h"
#include "stepscope/analysis/replay/stage_balance.h"
#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/analysis/steps/host_waits.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/number_text.h"
#include "stepscope/stats/lateness/excess.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t least_steps = 3;
constexpr std::size_t most_suspects = 8;    // of one kind
constexpr double suspect_share = 0.005;     // of the step: the excess of a suspect
constexpr double group_slower = 1.08;       // than its siblings
constexpr double stage_more = 1.04;         // than the other stages
constexpr double long_step = 1.15;          // than the median step
constexpr double long_cpu_step = 1.3;       // than the median step, on shared cores
constexpr double least_of_cores = 0.04;     // of the step: the gain of a rank on shared cores
constexpr double least_weak = 0.06;         // of the step: the gain where peers are missing
constexpr double least_unseen_gain = 0.10;  // of the step: the gain of unseen work on CPUs
constexpr double least_of_one = 0.25;       // of the step: excess and gain where one step counts
constexpr double alike_share = 0.75;        // of the mean: each rank has at least this much of it
constexpr double long_step_deviations = 5;  // median deviations of step times
constexpr double more_data = 2;             // than the other ranks that load data
constexpr double majority_share = 0.5;      // of ranks
constexpr double least_of_host = 0.25;      // of the excess of compute: the host is slow, too
constexpr double most_of_host = 2;          // of the excess of compute: only the host is late
constexpr double nearly_all_share = 0.8;    // of the largest gain: the narrower cause explains it
constexpr std::size_t most_named = 4;       // of one recording

using Values = std::vector<double>;

double mean_of(std::span<const double> v) { return mean(v).value_or(0); }
double sum_from(const Values& v, std::size_t from) {
  return std::accumulate(v.begin() + static_cast<std::ptrdiff_t>(from), v.end(), 0.0);
}

class FaultFinder {
 public:
  FaultFinder(const WhatIfInputs& in, const Workers& workers, const StopFlag* stop)
      : in_(in), workers_(workers), stop_(stop), step_(in.replay.step) {}

  std::vector<StepFault> run();

 private:
  void find_data(std::span<const NodeChange> data_free);
  void suspect_ranks();
  void suspect_part(std::size_t view, WorkPart part);
  void suspect_whole(std::size_t view, std::size_t since, const StepFault& compute);
  void suspect_lone_loaders();
  void suspect_data();
  [[nodiscard]] std::string place_of(const Pause& p) const;
  void suspect_pauses();
  void suspect_steps();
  void suspect_step(std::int64_t number);
  void suspect_groups();
  void suspect_stages();
  void suspect_syncs();
  void suspect_unseen();
  void suspect_unseen_alone();
  void suspect_early_waits();
  // By change: the saving of a step in addition to `undone`.
  [[nodiscard]] std::vector<Ns> gains_of(std::span<const std::vector<NodeChange>> changes,
                                         std::span<const NodeChange> undone) const;
  [[nodiscard]] std::vector<NodeChange> all_undone() const;
  void replay_suspects(std::span<const NodeChange> undone);
  [[nodiscard]] double least_gain(const StepFault& fault) const;
  void name_largest();
  [[nodiscard]] const PartTimes& part_of(std::size_t view, WorkPart part) const {
    return parts_[view][static_cast<std::size_t>(part)];
  }
  // Without the first step, which does not count in the mean step either: it fills the queues.
  [[nodiscard]] std::size_t first_step(std::size_t view) const {
    return in_.views[view].steps.size() > 1 ? 1 : 0;
  }
  [[nodiscard]] double share(double ns) const { return ns / static_cast<double>(step_.count()); }
  [[nodiscard]] std::int64_t step_number(std::size_t view, std::size_t step) const {
    return in_.views[view].steps[step].index;
  }
  void suspect(StepFault fault, std::vector<NodeChange> changes,
               std::optional<LongStep> step = {}) {
    if (!changes.empty()) suspects_.push_back({std::move(fault), std::move(changes), {}, step});
  }
  void suspect(StepFault fault) {
    std::vector<NodeChange> changes = changes_of(in_, fault.scenario);
    suspect(std::move(fault), std::move(changes));
  }

  const WhatIfInputs& in_;
  Workers workers_;
  const StopFlag* stop_;
  Ns step_;
  bool cpu_ = false;     // no rank has a device
  std::set<int> alone_;  // ranks without peers of their role
  std::vector<Pause> pauses_;
  std::vector<RankParts> parts_;  // by view
  Values data_;                   // by view, mean of a step
  std::vector<FaultCandidate> suspects_;
  std::vector<StepFault> named_;
  std::vector<std::vector<NodeChange>> undone_;  // of the named ones
};

// What loads data, by view, in the mean step.
void FaultFinder::find_data(std::span<const NodeChange> data_free) {
  const auto of_steps = data_of_steps(in_, data_free);
  for (std::size_t v = 0; v < of_steps.size(); ++v) {
    Values times;
    for (std::size_t k = first_step(v); k < of_steps[v].size(); ++k)
      times.push_back(static_cast<double>(of_steps[v][k].count()));
    data_.push_back(mean_of(times));
  }
}

void FaultFinder::suspect_part(std::size_t view, WorkPart part) {
  const PartTimes& times = part_of(view, part);
  const int rank = in_.views[view].rank;
  const Values all = times.excess(0);
  const std::size_t begin = part == WorkPart::compute ? begins_at(all) : all.size();
  const bool throttled = begin < all.size();
  const std::size_t since = throttled ? begin : first_step(view);
  const Values excess = throttled ? times.excess(first_step(view)) : times.usual_excess(since);
  const bool lacks_steps =
      !throttled && excess.size() == 1 && share(excess.front()) >= least_of_one;
  if (!throttled && !lacks_steps && !stands_out(excess)) return;
  const double own = sum_from(throttled ? times.own : times.usual, since);
  const double peers = sum_from(throttled ? times.peers : times.usual_peers, since);
  StepFault f{.kind = StepFaultKind::slow_rank,
              .ranks = {rank},
              .scenario = {.change = Change::rank_as_peers, .rank = rank, .part = part},
              .excess = Ns{std::llround(std::max(mean_of(excess), mean_of(times.excess(since))))},
              .ratio = peers > 0 ? own / peers : 1};
  if (part == WorkPart::host) f.kind = StepFaultKind::late_host;
  if (lacks_steps) f.lacks_steps = excess.size();
  if (part == WorkPart::data) {
    f.kind = StepFaultKind::data_loader;
    f.at_most = loads_in_workers(in_.views[view]);
  }
  if (throttled) {
    f.kind = StepFaultKind::throttling;
    f.steps = {step_number(view, begin)};
  }
  if (cpu_ && part == WorkPart::compute) suspect_whole(view, since, f);
  suspect(std::move(f));
}

// A slow core is slow between operators, too.
void FaultFinder::suspect_whole(std::size_t view, std::size_t since, const StepFault& compute) {
  const Values host = part_of(view, WorkPart::host).excess(since);
  const double more = mean_of(host);
  const auto of_compute = static_cast<double>(compute.excess.count());
  if (more < least_of_host * of_compute || more > most_of_host * of_compute || !stands_out(host) ||
      share(std::abs(mean_of(part_of(view, WorkPart::data).excess(since)))) >= suspect_share)
    return;
  StepFault f = compute;
  f.scenario.part.reset();
  f.excess = Ns{std::llround(more)};
  suspect(std::move(f));
}

// The parts of ranks whose excess over their peers is largest.
void FaultFinder::suspect_ranks() {
  for (const WorkPart part : {WorkPart::compute, WorkPart::host, WorkPart::data}) {
    std::vector<std::pair<double, std::size_t>> excess;
    for (std::size_t v = 0; v < parts_.size(); ++v) {
      const double mean = mean_of(part_of(v, part).excess(first_step(v)));
      if (share(mean) >= suspect_share) excess.emplace_back(mean, v);
    }
    std::ranges::sort(excess, std::greater<>{});
    if (excess.size() > most_suspects) excess.resize(most_suspects);
    for (const auto& [mean, v] : excess) suspect_part(v, part);
  }
}

// Waits of threads without a device have a replay of their own: they are not asked again.
void FaultFinder::suspect_early_waits() {
  const std::vector<EarlyWait> waits = find_early_waits(in_);
  std::set<int> ranks;
  std::size_t steps = 0;  // of those ranks
  for (const EarlyWait& w : waits) ranks.insert(in_.views[w.view].rank);
  for (const RankView& view : in_.views)
    if (ranks.contains(view.rank)) steps += view.steps.size();
  if (steps == 0 || waits.size() < steps) return;
  StepFault f{.kind = StepFaultKind::sync_calls,
              .scenario = {.change = Change::sync_free},
              .gain = step_ - replay_without(in_, waits),
              .count = waits.size() / steps};
  if (ranks.size() < in_.views.size()) f.ranks.assign(ranks.begin(), ranks.end());
  if (share(static_cast<double>(f.gain.count())) < least_fault_share) return;
  const Ns gain = f.gain;
  suspects_.push_back({std::move(f), {}, gain, {}});
}

void FaultFinder::suspect_lone_loaders() {
  std::map<std::string_view, std::size_t> loaders;  // by role
  for (std::size_t v = 0; v < data_.size(); ++v)
    if (data_[v] > 0) ++loaders[in_.roles[v]];
  for (std::size_t v = 0; v < data_.size(); ++v) {
    if (share(data_[v]) < least_fault_share / 2 || loaders[in_.roles[v]] > 1) continue;
    Values others;
    for (std::size_t u = 0; u < data_.size(); ++u)
      if (u != v && data_[u] > 0) others.push_back(data_[u]);
    if (!others.empty() && data_[v] < more_data * *median(others)) continue;
    const int rank = in_.views[v].rank;
    suspect({.kind = StepFaultKind::data_loader,
             .ranks = {rank},
             .scenario = {.change = Change::data_free, .rank = rank},
             .excess = Ns{std::llround(data_[v])}});
  }
}

// The ranks that load data do so for so long that most of them have no time for it during the step.
void FaultFinder::suspect_data() {
  const auto loaders = std::ranges::count_if(data_, [](double time) { return time > 0; });
  const auto loading = std::ranges::count_if(
      data_, [&](double time) { return share(time) >= least_fault_share / 2; });
  if (static_cast<double>(loading) <= majority_share * static_cast<double>(loaders)) return;
  suspect({.kind = StepFaultKind::data_loader,
           .scenario = {.change = Change::data_free},
           .excess = Ns{std::llround(mean_of(data_))}});
}

// What the host thread does in a pause, as far as rows show it.
std::string FaultFinder::place_of(const Pause& p) const {
  const StepGraph& graph = *in_.replay.graph;
  const RankView& view = in_.views[p.view];
  const SliceId row = graph.slice[p.node];
  if (row == no_slice || view.steps.empty()) return {};
  const Ns start = graph.origin + in_.replay.start(p.node);
  // The row before a pause may be of the step before.
  const auto step = static_cast<std::size_t>(std::max(p.step - 1, 0));
  const HostActivity does =
      host_activity(*view.trace, view.trace->slices.track[index(row)], view.steps[step].host_start,
                    start, start + graph.graph.duration[p.node]);
  if (does.text.starts_with("between ")) return does.text;
  return does.covering == no_slice ? std::string() : "in " + does.text;
}

void FaultFinder::suspect_pauses() {
  if (pauses_.empty()) return;
  StepFault f{.kind = StepFaultKind::pauses,
              .scenario = {.change = Change::pauses_free},
              .count = pauses_.size()};
  std::set<int> ranks;
  std::set<std::int64_t> steps;
  std::size_t most = 1;
  const StepGraph& graph = *in_.replay.graph;
  for (const Pause& p : pauses_) {
    ranks.insert(in_.views[p.view].rank);
    f.places.push_back({in_.views[p.view].rank, graph.origin + in_.replay.start(p.node),
                        graph.graph.duration[p.node]});
    if (p.step >= 0) steps.insert(step_number(p.view, static_cast<std::size_t>(p.step)));
    most = std::max(most, in_.views[p.view].steps.size());
    f.excess += p.excess;
  }
  f.excess /= static_cast<std::int64_t>(most);
  f.between = place_of(*std::ranges::max_element(pauses_, {}, &Pause::excess));
  f.ranks.assign(ranks.begin(), ranks.end());
  f.steps.assign(steps.begin(), steps.end());
  std::ranges::sort(f.places, {}, [](const FaultPlace& p) { return std::pair(p.start, p.rank); });
  suspect(std::move(f), without_pauses(in_, pauses_));
}

// Steps that are much longer than the median, unless they are many.
void FaultFinder::suspect_steps() {
  const auto lengths = step_lengths(in_, cpu_);
  if (lengths.size() < least_steps) return;
  Values all;
  for (const auto& [number, length] : lengths) all.push_back(length);
  const double usual = median(all).value_or(0);
  Values deviation;
  for (const double x : all) deviation.push_back(std::abs(x - usual));
  const double spread = median(deviation).value_or(0);
  std::vector<std::pair<double, std::int64_t>> outliers;
  std::size_t events = 0;  // long work may reach into the next step
  std::int64_t reaches = std::numeric_limits<std::int64_t>::min();
  for (const auto& [number, length] : lengths) {
    if (length <= (cpu_ ? long_cpu_step : long_step) * usual ||
        length - usual <= long_step_deviations * spread)
      continue;
    outliers.emplace_back(length, number);
    if (number <= reaches) continue;
    ++events;
    reaches = number + 1;
  }
  if (events == 0 || events > std::max<std::size_t>(1, lengths.size() / 4)) return;
  std::ranges::sort(outliers, std::greater<>{});
  // The host may run a step ahead: what holds the device in a step may be work of the one before.
  // Without a device, host work is of the step of the row that it comes before.
  for (const auto& [length, number] : outliers) {
    suspect_step(number);
    suspect_step(cpu_ ? number + 1 : number - 1);
  }
}

void FaultFinder::suspect_step(std::int64_t number) {
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
  const double most = more.empty() ? 0 : *std::ranges::max_element(more);
  const auto with = std::ranges::count_if(more, [&](double x) { return x >= most / 2; });
  const bool few = more.size() > 2 &&
                   static_cast<double>(with) < majority_share * static_cast<double>(more.size());
  // Longer work of few ranks is a pause, or a slow rank. It is of the step even there if the host
  // has rows that no other step has: one rank writes the checkpoint.
  const NodeKind kind = graph.kind[largest.node];
  const bool pauses_elsewhere = std::ranges::any_of(pauses_, [&](const Pause& p) {
    return p.step < 0 || step_number(p.view, static_cast<std::size_t>(p.step)) != number;
  });
  const bool of_host = (kind == NodeKind::host || kind == NodeKind::launch) && !pauses_elsewhere;
  if (most <= 0 || (few && !(of_host && has_own_rows(in_.views[graph.view[largest.node]], number))))
    return;
  suspect({.kind = StepFaultKind::outlier_step,
           .steps = {step_of_work(in_, largest.node).value_or(number)},
           .scenario = {.change = Change::step_as_others, .step = number}},
          std::move(changes), compared_step(in_, number));
}

void FaultFinder::suspect_groups() {
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

void FaultFinder::suspect_stages() {
  const auto ratios = stage_ratios(in_);
  const auto most =
      std::ranges::max_element(ratios, {}, [](const auto& stage) { return stage.second.work; });
  if (most == ratios.end() || most->second.work < stage_more || !most->second.movable) return;
  const std::string_view name = most->first;  // "pp1"
  const int stage =
      leading_number<int>(name.substr(std::min<std::size_t>(2, name.size()))).value_or(-1);
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

void FaultFinder::suspect_syncs() {
  std::vector<NodeChange> changes = without_repeated_syncs(in_);
  std::size_t steps = 0;
  for (const RankView& view : in_.views) steps += view.steps.size();
  if (steps == 0 || changes.size() < steps / 2) return;
  StepFault f{.kind = StepFaultKind::sync_calls,
              .scenario = {.change = Change::syncs_once},
              .count = changes.size() / steps};
  suspect(std::move(f), std::move(changes));
}

void FaultFinder::suspect_unseen() {
  std::vector<NodeChange> changes = changes_of(in_, {.change = Change::unseen_free});
  if (changes.empty()) return;
  std::optional<UnseenWork> work = unseen_work(in_.views);
  if (!work) return;
  // On CPUs a rank may wait for another without a row that shows it.
  const auto alike = static_cast<double>(work->least.count()) >=
                     alike_share * static_cast<double>(work->of_step.count());
  if (cpu_ && (work->between.empty() || !alike)) return;
  suspect({.kind = StepFaultKind::unseen_host,
           .ranks = std::move(work->ranks),
           .scenario = {.change = Change::unseen_free},
           .excess = work->of_step,
           .between = std::move(work->between)},
          std::move(changes));
}

// A rank that is alone in its role has no peer to be compared with. Where no row shows what its
// host does, it may wait for others, unless half of the others wait for half of that time or
// longer.
void FaultFinder::suspect_unseen_alone() {
  const std::vector<Ns> waits = waits_of_steps(in_);
  for (std::size_t v = 0; v < in_.views.size(); ++v) {
    const int rank = in_.views[v].rank;
    if (!alone_.contains(rank)) continue;
    std::optional<UnseenWork> work = unseen_work(in_.views.subspan(v, 1));
    if (!work || work->between.empty()) continue;
    const auto long_enough = [&](Ns wait) { return 2 * wait >= work->of_step; };
    const auto others = std::ranges::count_if(waits, long_enough) - (long_enough(waits[v]) ? 1 : 0);
    if (others == 0 || 2 * others < std::ssize(waits) - 1) continue;
    suspect({.kind = StepFaultKind::unseen_host,
             .ranks = {rank},
             .scenario = {.change = Change::unseen_free, .rank = rank},
             .excess = work->of_step,
             .between = std::move(work->between)});
  }
}

std::vector<Ns> FaultFinder::gains_of(std::span<const std::vector<NodeChange>> changes,
                                      std::span<const NodeChange> undone) const {
  std::vector<WorkChange> asked;
  for (const std::vector<NodeChange>& list : changes) {
    WorkChange& change = asked.emplace_back(list);
    if (!undone.empty()) change.changes.push_back(undone);
  }
  if (!undone.empty()) asked.emplace_back().changes.push_back(undone);
  std::vector<Ns> steps(asked.size(), step_);
  shared_stretches(steps, workers_, most_replays, [&](std::size_t first, std::size_t count) {
    if (stop_ != nullptr && stop_->requested()) return;
    std::ranges::copy(
        replay_steps(in_.replay, in_.replay.measured.work, std::span(asked).subspan(first, count)),
        steps.begin() + static_cast<std::ptrdiff_t>(first));
  });
  const Ns before = undone.empty() ? step_ : steps.back();
  std::vector<Ns> gains;
  for (std::size_t i = 0; i < changes.size(); ++i) gains.push_back(before - steps[i]);
  return gains;
}

// A share of the step. Other programs may share the cores of a job without a device.
double FaultFinder::least_gain(const StepFault& fault) const {
  if (fault.lacks_steps > 0) return least_of_one;
  if (!cpu_) return least_fault_share;
  switch (fault.kind) {
    case StepFaultKind::late_host:
      return alone_.contains(fault.ranks.front()) ? least_weak : least_of_cores;
    case StepFaultKind::slow_rank:
    case StepFaultKind::throttling:
      return least_of_cores;
    case StepFaultKind::data_loader:
      return fault.ranks.empty() ? least_weak : least_fault_share;
    case StepFaultKind::unseen_host:
      return least_unseen_gain;
    default:
      return least_fault_share;
  }
}

// Replays the suspects on top of `undone`. Suspects that gain too little are dropped.
void FaultFinder::replay_suspects(std::span<const NodeChange> undone) {
  std::vector<std::vector<NodeChange>> changes;
  std::vector<FaultCandidate*> asked;
  for (FaultCandidate& s : suspects_)
    if (!s.changes.empty()) {
      changes.push_back(std::move(s.changes));
      asked.push_back(&s);
    }
  const std::vector<Ns> gains = gains_of(changes, undone);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    asked[i]->changes = std::move(changes[i]);
    const auto& step = asked[i]->step;
    StepFault& fault = asked[i]->fault;
    // Kernels delay a step by what they take more than those of their peers, at most.
    const bool kernels = !cpu_ && fault.scenario.part == WorkPart::compute;
    const Ns gain =
        std::min(gains[i], kernels ? fault.excess : step_ - shortest_step(in_, fault.scenario));
    asked[i]->left = gain;
    if (!undone.empty()) continue;
    fault.gain = gain;
    if (!step) continue;
    fault.excess = step->excess(gain);
    fault.ratio = step->ratio(gain);
  }
  std::erase_if(suspects_, [&](const FaultCandidate& s) {
    // Else it is mostly hidden: the host may have waited for the device unseen.
    if (s.fault.kind == StepFaultKind::unseen_host && 2 * s.fault.gain < s.fault.excess)
      return true;
    return share(static_cast<double>(s.left.count())) < least_gain(s.fault);
  });
}

// The changes of the named faults; of several of a node the one that leaves least.
std::vector<NodeChange> FaultFinder::all_undone() const {
  WorkChange all;
  for (const std::vector<NodeChange>& changes : undone_) all.changes.emplace_back(changes);
  std::vector<NodeChange> list;
  for (ChangeWalk walk(all); walk.node() != no_node; walk.next())
    list.push_back({walk.node(), walk.work()});
  return list;
}

// Names the narrowest of the suspects that explain nearly as much as the largest.
void FaultFinder::name_largest() {
  double most = 0;
  for (const FaultCandidate& s : suspects_) most = std::max(most, weight_of(s));
  const auto rank_of = [&](const FaultCandidate& s) {
    const bool much = weight_of(s) >= nearly_all_share * most;
    return std::tuple(!much, much ? width_of(s.fault) : 0, -weight_of(s));
  };
  const auto first = std::ranges::min_element(suspects_, {}, rank_of);
  const StepFault& named = named_.emplace_back(std::move(first->fault));
  undone_.push_back(std::move(first->changes));
  suspects_.erase(first);
  // Work of one step may lengthen the next, too. The step is named once.
  if (named.kind == StepFaultKind::outlier_step)
    std::erase_if(suspects_, [&](const FaultCandidate& s) {
      return s.fault.kind == named.kind && s.fault.steps == named.steps;
    });
}

std::vector<StepFault> FaultFinder::run() {
  if (step_ <= Ns{0}) return {};
  cpu_ = std::ranges::all_of(in_.views, [](const RankView& v) { return v.index->cpu_only(); });
  std::map<std::string_view, std::size_t> ranks_of;  // by role
  for (const std::string& role : in_.roles) ++ranks_of[role];
  for (std::size_t v = 0; v < in_.views.size(); ++v)
    if (ranks_of[in_.roles[v]] < 2) alone_.insert(in_.views[v].rank);
  pauses_ = find_pauses(in_);
  const std::vector<NodeChange> data_free = changes_of(in_, {.change = Change::data_free});
  parts_ = rank_parts(in_, data_free);
  find_data(data_free);
  suspect_ranks();
  suspect_lone_loaders();
  suspect_data();
  suspect_pauses();
  suspect_steps();
  suspect_groups();
  suspect_stages();
  suspect_unseen();
  if (cpu_) {
    suspect_unseen_alone();
    suspect_early_waits();
  } else {
    suspect_syncs();
  }
  replay_suspects({});
  while (!suspects_.empty() && named_.size() < most_named) {
    name_largest();
    replay_suspects(all_undone());
  }
  return std::move(named_);
}

}  // namespace

std::vector<StepFault> find_faults(const WhatIfInputs& inputs, const Workers& workers,
                                   const StopFlag* stop) {
  return FaultFinder(inputs, workers, stop).run();
}

}  // namespace stepscope
