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

// Index in job.steps of each step of the rank, or none.
std::vector<std::optional<std::size_t>> places(const JobResult& job, const RankResult& rank) {
  std::vector<std::optional<std::size_t>> places(rank.steps.size());
  for (std::size_t s = 0; s < rank.steps.size(); ++s) {
    const auto found =
        std::ranges::lower_bound(job.steps, rank.steps[s].index, {}, &JobStep::index);
    if (found != job.steps.end() && found->index == rank.steps[s].index)
      places[s] = static_cast<std::size_t>(found - job.steps.begin());
  }
  return places;
}

// By distinct name, so that each is looked up once per step and rank.
void add_kernels(const Trace& trace, const RankResult& rank,
                 std::span<const std::optional<std::size_t>> places, Parts& parts) {
  std::map<std::pair<StringId, std::size_t>, Ns> sums;
  for (const DeviceLane& lane : index_rank(trace).devices)
    for (const SliceId op : lane.ops)
      if (const auto step = step_at(rank.steps, trace.slices.start[index(op)]);
          step && places[*step])
        sums[{trace.slices.name[index(op)], *places[*step]}] += trace.slices.dur[index(op)];
  for (const auto& [key, time] : sums)
    parts.add(PartKind::kernel, trace.strings[key.first], key.second, time);
}

}  // namespace

std::vector<PartSeries> step_parts(const JobResult& job, std::span<const RankInput> ranks) {
  Parts parts(job.steps.size(), std::max<std::size_t>(job.ranks.size(), 1));
  for (const RankResult& rank : job.ranks) {
    const auto place = places(job, rank);
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      if (!place[s]) continue;
      const Budget& budget = rank.budget.rank().steps[s];
      for (std::size_t c = 0; c < budget_category_count; ++c)
        parts.add(PartKind::budget, budget_category_names[c], *place[s], budget.time[c]);
      if (rank.classes.empty()) continue;
      for (std::size_t c = 0; c < name_class_count; ++c)
        parts.add(PartKind::compute, name_class_names[c], *place[s], rank.classes[s].compute[c]);
    }
    const auto input = std::ranges::find(ranks, rank.rank, &RankInput::rank);
    if (input != ranks.end()) add_kernels(*input->trace, rank, place, parts);
  }
  return std::move(parts).all();
}

}  // namespace stepscope
