// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/job_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace stepscope {
namespace {

bool incomplete_on(const JobSteps& job, const RankResult& rank, std::int64_t index) {
  return std::ranges::binary_search(rank.recording.lost_steps, index) ||
         std::ranges::any_of(job.cut, [&](const CutRank& cut) {
           return cut.rank == rank.rank && std::ranges::binary_search(cut.steps, index);
         });
}

// The steps that count of the job, else those that every rank has.
void count(std::vector<Step> counted, JobSteps& job) {
  job.counted = std::move(counted);
  if (job.counted.empty())
    for (const JobStep& s : job.common)
      job.counted.push_back(
          {.index = s.index, .name = {}, .start = s.start, .end = s.start + s.wall});
  std::vector<std::int64_t> walls;
  for (const Step& step : job.counted) walls.push_back((step.end - step.start).count());
  job.summary = summarize(walls);
}

}  // namespace

void join_steps(std::span<const RankResult> ranks, bool clocks_comparable, JobSteps& job) {
  std::map<std::int64_t, JobStep> by_index;
  std::map<std::int64_t, Ns> last_end;
  for (const RankResult& r : ranks)
    for (const Step& s : r.steps) {
      JobStep& step =
          by_index.try_emplace(s.index, JobStep{s.index, s.start, Ns{}, {}}).first->second;
      step.ranks.push_back(r.rank);
      step.start = std::min(step.start, s.start);
      Ns& end = last_end.try_emplace(s.index, s.end).first->second;
      end = std::max(end, s.end);
      step.wall = clocks_comparable ? end - step.start : std::max(step.wall, s.end - s.start);
    }
  for (auto& [index, step] : by_index) {
    if (step.ranks.size() == ranks.size()) {
      job.common.push_back(step);
      continue;
    }
    for (const RankResult& r : ranks)
      if (std::ranges::find(step.ranks, r.rank) == step.ranks.end() &&
          !incomplete_on(job, r, index))
        job.missing.push_back({r.rank, index});
  }
}

// The mean of each rank's steps, by category; then over ranks. The steps are those that count, else
// the common ones.
void average_steps(std::span<const RankResult> ranks, std::vector<Step> counted, JobSteps& job) {
  count(std::move(counted), job);
  if (job.common.empty()) return;
  std::set<std::int64_t> common;
  for (const JobStep& s : job.common) common.insert(s.index);
  std::vector<CategoryMeans> per_rank;
  std::vector<StepPhases> phases;
  for (const RankResult& r : ranks) {
    const AccountedSteps accounted = accounted_steps(r);
    std::vector<Budget> budgets;
    for (std::size_t s = 0; s < accounted.steps.size(); ++s) {
      if (r.counted.steps.empty() && !common.contains(accounted.steps[s].index)) continue;
      phases.push_back(accounted.phases[s]);
      budgets.push_back(accounted.budgets[s]);
    }
    per_rank.push_back(mean_budget(budgets));
  }
  job.phases = summarize_phases(
      phases, std::ranges::none_of(ranks, [](const RankResult& r) { return r.device.is_cpu(); }));
  for (std::size_t c = 0; c < budget_category_count; ++c) {
    std::vector<double> values;
    values.reserve(per_rank.size());
    for (const auto& rank : per_rank) values.push_back(rank[c]);
    const auto summary = summarize(values);
    if (!summary) continue;
    const auto worst = std::ranges::max_element(values);
    job.spread[c] = {summary->mean, *worst,
                     ranks[static_cast<std::size_t>(worst - values.begin())].rank, summary->stdev,
                     summary->min};
    job.mean.time[c] = Ns{std::llround(summary->mean)};
  }
}

}  // namespace stepscope
