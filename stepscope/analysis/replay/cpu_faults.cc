// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/cpu_faults.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "stepscope/analysis/replay/early_waits.h"
#include "stepscope/analysis/replay/what_if.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double undisturbed_quantile = 0.25;
constexpr double slower_core = 1.04;       // than its peers
constexpr double most_of_it = 0.6;         // of a rank's compute
constexpr double before_throttle = 0.35;   // of the later excess, at most, is there before
constexpr double steady_loading = 0.3;     // of the mean excess, in three of four steps
constexpr std::int32_t least_stretch = 4;  // steps before and after a change

using Times = std::vector<double>;

double undisturbed(const Times& times) { return quantile(times, undisturbed_quantile).value_or(0); }

struct Weighted {
  double value = 0;
  double weight = 0;
};

double weighted_quantile(std::vector<Weighted>& values, double q) {
  std::ranges::sort(values, {}, &Weighted::value);
  double left = 0;
  for (const Weighted& w : values) left += q * w.weight;
  for (const Weighted& w : values)
    if (left -= w.weight; left <= 0) return w.value;
  return values.back().value;
}

// By view: the median (for an even number the lower one) of the other views of its role. Negative
// values are none.
Times of_peers(const WhatIfInputs& in, std::span<const double> of_view) {
  std::map<std::string_view, std::vector<std::pair<double, std::size_t>>> of_role;
  for (std::size_t v = 0; v < of_view.size(); ++v)
    if (of_view[v] >= 0) of_role[in.roles[v]].emplace_back(of_view[v], v);
  Times peers(of_view.size(), -1);
  for (auto& [role, values] : of_role) {
    std::ranges::sort(values);
    if (values.size() < 2) continue;
    const std::size_t middle = (values.size() - 2) / 2;
    for (std::size_t i = 0; i < values.size(); ++i)
      peers[values[i].second] = values[middle < i ? middle : middle + 1].first;
  }
  return peers;
}

// Time of nodes of a kind by view and step.
std::vector<Times> times_of_steps(const WhatIfInputs& in, NodeKind kind) {
  std::vector<Times> times(in.views.size());
  for (std::size_t v = 0; v < times.size(); ++v) {
    times[v].resize(in.views[v].steps.size());
    for (const StepPiece& p : in.medians.pieces.of(v))
      if (in.replay.graph->kind[p.node] == kind && p.step >= 0)
        times[v][static_cast<std::size_t>(p.step)] +=
            static_cast<double>(time_of(in.replay, p).count());
  }
  return times;
}

class CpuSearch {
 public:
  explicit CpuSearch(const WhatIfInputs& in) : in_(in) {
    for (const RankView& view : in.views)
      all_.until = std::max(all_.until, static_cast<std::int32_t>(view.steps.size()));
  }

  std::vector<StepFault> run() {
    look_at_compute();
    look_at_hosts();
    look_at_waits();
    return std::move(found_);
  }

 private:
  void look_at_compute();
  void look_for_throttling(std::size_t view, const Times& ratio);
  void look_at_hosts();
  void look_at_waits();
  [[nodiscard]] double share(double ns) const {
    return ns / static_cast<double>(in_.replay.step.count());
  }

  const WhatIfInputs& in_;
  StepRange all_;
  std::vector<StepFault> found_;
};

void CpuSearch::look_at_compute() {
  const std::vector<ComputeRatio> whole = compute_ratios(in_, all_);
  const std::vector<Times> times = times_of_steps(in_, NodeKind::compute);
  std::vector<Times> ratios(times.size());  // to the peers, by view and step
  for (std::size_t k = 0; k < static_cast<std::size_t>(all_.until); ++k) {
    Times of_view;
    for (const Times& t : times) of_view.push_back(k < t.size() ? t[k] : -1);
    const Times peers = of_peers(in_, of_view);
    for (std::size_t v = 0; v < times.size(); ++v)
      if (peers[v] > 0) ratios[v].push_back(of_view[v] / peers[v]);
  }
  for (std::size_t v = 0; v < whole.size(); ++v) {
    if (whole[v].most < slower_core) {
      if (ratios[v].size() == times[v].size()) look_for_throttling(v, ratios[v]);
      continue;
    }
    const int rank = in_.views[v].rank;
    const double ratio = std::round(100 * whole[v].median) / 100;  // as the scenario is written
    const double excess = mean(times[v]).value_or(0) * (1 - 1 / ratio);
    found_.push_back({.kind = StepFaultKind::slow_rank,
                      .ranks = {rank},
                      .scenario = {.change = Change::compute, .factor = ratio, .rank = rank},
                      .excess = Ns{std::llround(excess)},
                      .ratio = ratio});
  }
}

// The steps are divided where their ratio to the peers changes most.
void CpuSearch::look_for_throttling(std::size_t view, const Times& ratio) {
  const auto steps = static_cast<std::int32_t>(ratio.size());
  const auto mean_of = [&](std::int32_t from, std::int32_t until) {
    return std::accumulate(ratio.begin() + from, ratio.begin() + until, 0.0) / (until - from);
  };
  std::int32_t at = 0;
  double most = 0;
  for (std::int32_t s = least_stretch; s + least_stretch <= steps; ++s) {
    const double change =
        (mean_of(s, steps) - mean_of(0, s)) * std::sqrt(static_cast<double>(s) * (steps - s));
    if (change <= most) continue;
    most = change;
    at = s;
  }
  if (at == 0) return;
  const ComputeRatio before = compute_ratios(in_, {0, at})[view];
  const ComputeRatio after = compute_ratios(in_, {at, steps})[view];
  if (after.most < slower_core || before.median - 1 > before_throttle * (after.median - 1)) return;
  const RankView& v = in_.views[view];
  found_.push_back(
      {.kind = StepFaultKind::throttling,
       .ranks = {v.rank},
       .steps = {v.steps[static_cast<std::size_t>(at)].index},
       .scenario = {.change = Change::rank_as_peers, .rank = v.rank, .part = WorkPart::compute},
       .ratio = after.median});
}

// Data loading is host time: what it does not explain is the host's.
void CpuSearch::look_at_hosts() {
  const auto data = data_of_steps(in_, changes_of(in_, {.change = Change::data_free}));
  const auto data_peers = data_of_peers(in_, data);
  const std::vector<Times> times = times_of_steps(in_, NodeKind::host);
  Times host;
  for (const Times& t : times) host.push_back(t.empty() ? -1 : undisturbed(t));
  const Times host_peers = of_peers(in_, host);
  for (std::size_t v = 0; v < times.size(); ++v) {
    Times loading;  // more than the peers
    for (std::size_t k = 0; k < data[v].size(); ++k)
      if (data_peers[v][k] >= Ns{0})
        loading.push_back(static_cast<double>((data[v][k] - data_peers[v][k]).count()));
    const double usual = undisturbed(loading);
    const double longer = mean(loading).value_or(0);
    StepFault f{.ranks = {in_.views[v].rank},
                .scenario = {.change = Change::rank_as_peers, .rank = in_.views[v].rank}};
    if (share(longer) >= least_fault_share / 2 && usual >= steady_loading * longer) {
      f.kind = StepFaultKind::data_loader;
      f.scenario.part = WorkPart::data;
      f.excess = Ns{std::llround(longer)};
      found_.push_back(f);
    }
    const double late = host[v] - host_peers[v] - std::max(0.0, usual);
    if (host_peers[v] < 0 || share(late) < least_fault_share) continue;
    f.kind = StepFaultKind::late_host;
    f.scenario.part = WorkPart::host;
    f.excess = Ns{std::llround(late)};
    found_.push_back(std::move(f));
  }
}

void CpuSearch::look_at_waits() {
  const std::vector<EarlyWait> waits = find_early_waits(in_);
  std::set<int> ranks;
  std::size_t steps = 0;  // of those ranks
  for (const EarlyWait& w : waits) ranks.insert(in_.views[w.view].rank);
  for (const RankView& view : in_.views)
    if (ranks.contains(view.rank)) steps += view.steps.size();
  if (steps == 0 || waits.size() < steps) return;
  StepFault f{.kind = StepFaultKind::sync_calls,
              .scenario = {.change = Change::sync_free},
              .gain = in_.replay.step - replay_without(in_, waits),
              .count = waits.size() / steps};
  if (ranks.size() < in_.views.size()) f.ranks.assign(ranks.begin(), ranks.end());
  found_.push_back(std::move(f));
}

}  // namespace

std::vector<ComputeRatio> compute_ratios(const WhatIfInputs& in, StepRange steps) {
  const std::size_t views = in.views.size();
  std::map<std::string_view, std::size_t> ranks;  // by role
  for (const std::string& role : in.roles) ++ranks[role];
  std::map<std::uint64_t, std::vector<Times>> times;  // by key and view; not of ranks without peers
  for (std::size_t v = 0; v < views; ++v)
    for (const StepPiece& p :
         ranks[in.roles[v]] > 1 ? in.medians.pieces.of(v) : std::span<const StepPiece>{}) {
      if (in.replay.graph->kind[p.node] != NodeKind::compute) continue;
      if (p.step < steps.from || p.step >= steps.until) continue;
      auto& of_key = times[p.key];
      of_key.resize(views);
      of_key[v].push_back(static_cast<double>(time_of(in.replay, p).count()));
    }
  std::vector<std::vector<Weighted>> ratios(views);
  const auto most = static_cast<std::size_t>(steps.until - steps.from);
  for (const auto& [key, of_key] : times) {
    Times of_view(views, -1);
    for (std::size_t v = 0; v < views; ++v)
      if (2 * of_key[v].size() >= most) of_view[v] = undisturbed(of_key[v]);
    const Times peers = of_peers(in, of_view);
    for (std::size_t v = 0; v < views; ++v)
      if (peers[v] > 0) ratios[v].push_back({of_view[v] / peers[v], of_view[v] + peers[v]});
  }
  std::vector<ComputeRatio> of_view(views);
  for (std::size_t v = 0; v < views; ++v)
    if (!ratios[v].empty())
      of_view[v] = {weighted_quantile(ratios[v], 0.5),
                    weighted_quantile(ratios[v], 1 - most_of_it)};
  return of_view;
}

std::vector<StepFault> cpu_suspects(const WhatIfInputs& inputs) { return CpuSearch(inputs).run(); }

}  // namespace stepscope
