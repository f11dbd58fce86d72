// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/step_parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/step_at.h"

namespace stepscope {
namespace {

// Sums over ranks by kind and name, in the order of kinds, then names.
class Parts {
 public:
  Parts(std::size_t steps, std::size_t ranks)
      : steps_(steps), share_(1 / static_cast<double>(ranks)) {}

  void add(PartKind kind, std::string_view name, std::size_t step, Ns time) {
    if (time == Ns{}) return;
    auto& series = series_[{kind, std::string(name)}];
    series.resize(steps_);
    series[step] += share_ * static_cast<double>(time.count());
  }
  [[nodiscard]] std::vector<PartSeries> all() && {
    std::vector<PartSeries> parts;
    for (auto& [key, ns] : series_) parts.push_back({key.first, key.second, std::move(ns)});
    return parts;
  }

 private:
  std::size_t steps_;
  double share_;
  std::map<std::pair<PartKind, std::string>, std::vector<double>> series_;
};

// A rank's account of its steps that count, else of all of them.
struct RankSteps {
  std::span<const Step> steps;
  std::span<const Budget> budgets;                 // parallel
  std::vector<std::optional<std::size_t>> places;  // parallel: in job.counted, or none
};

RankSteps steps_of(const JobResult& job, const RankResult& rank) {
  const bool counted = !rank.counted_steps.empty();
  RankSteps of{.steps = counted ? rank.counted_steps : rank.steps,
               .budgets = counted ? rank.counted_budget.devices[rank.budget.chosen].steps
                                  : rank.budget.rank().steps,
               .places = {}};
  of.places.resize(of.steps.size());
  for (std::size_t s = 0; s < of.steps.size(); ++s) {
    const auto found = std::ranges::lower_bound(job.counted, of.steps[s].index, {}, &Step::index);
    if (found != job.counted.end() && found->index == of.steps[s].index)
      of.places[s] = static_cast<std::size_t>(found - job.counted.begin());
  }
  return of;
}

// By distinct name, so that each is looked up once per step and rank.
void add_kernels(const Trace& trace, const RankSteps& of, Parts& parts) {
  const std::vector<std::optional<std::size_t>>& places = of.places;
  std::map<std::pair<StringId, std::size_t>, Ns> sums;
  for (const DeviceLane& lane : index_rank(trace).devices)
    for (const SliceId op : lane.ops)
      if (const auto step = step_at(of.steps, trace.slices.start[index(op)]); step && places[*step])
        sums[{trace.slices.name[index(op)], *places[*step]}] += trace.slices.dur[index(op)];
  for (const auto& [key, time] : sums)
    parts.add(PartKind::kernel, trace.strings[key.first], key.second, time);
}

}  // namespace

std::vector<PartSeries> step_parts(const JobResult& job, std::span<const RankInput> ranks) {
  Parts parts(job.counted.size(), std::max<std::size_t>(job.ranks.size(), 1));
  for (const RankResult& rank : job.ranks) {
    const RankSteps of = steps_of(job, rank);
    for (std::size_t s = 0; s < of.steps.size(); ++s) {
      if (!of.places[s]) continue;
      for (std::size_t c = 0; c < budget_category_count; ++c)
        parts.add(PartKind::budget, budget_category_names[c], *of.places[s], of.budgets[s].time[c]);
      if (rank.classes.empty()) continue;
      for (std::size_t c = 0; c < name_class_count; ++c)
        parts.add(PartKind::compute, name_class_names[c], *of.places[s],
                  rank.classes[s].compute[c]);
    }
    const auto input = std::ranges::find(ranks, rank.rank, &RankInput::rank);
    if (input != ranks.end()) add_kernels(*input->trace, of, parts);
  }
  return std::move(parts).all();
}

}  // namespace stepscope
