// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/job_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

bool is_compute(JobOp op) { return op == JobOp::forward_compute || op == JobOp::backward_compute; }

std::size_t stage_of(const JobLayout& layout, std::size_t cell) {
  return static_cast<std::size_t>(layout.ops[cell % layout.ops.size()].stage);
}

double mean(std::span<const Seconds> times) {
  return std::accumulate(times.begin(), times.end(), Seconds{}).count() /
         static_cast<double>(times.size());
}

}  // namespace

std::vector<Seconds> stage_times(const JobLayout& layout, const JobReplay& replay) {
  const auto stages = static_cast<std::size_t>(layout.stages);
  std::vector<std::vector<Ns>> workers(stages, std::vector<Ns>(layout.dp_ranks.size(), Ns{0}));
  for (std::size_t c = 0; c < replay.cells(); ++c) {
    if (!is_compute(replay.op[c])) continue;
    Ns& sum = workers[stage_of(layout, c)][c / layout.ops.size()];
    for (std::size_t s = 0; s < replay.steps; ++s) sum += replay.work[c * replay.steps + s];
  }
  std::vector<Seconds> times;
  for (std::vector<Ns>& all : workers)
    times.push_back(Seconds(lower_median(all)) / static_cast<double>(replay.steps));
  return times;
}

std::vector<Ns> balanced_work(const JobLayout& layout, const JobReplay& replay) {
  const std::vector<Seconds> times = stage_times(layout, replay);
  std::vector<Ns> work = replay.work;
  if (std::ranges::min(times) <= Seconds{0}) return work;
  const double even = mean(times);
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::size_t cell = i / replay.steps;
    if (!is_compute(replay.op[cell])) continue;
    const double factor = even / times[stage_of(layout, cell)].count();
    work[i] = Ns{std::llround(static_cast<double>(work[i].count()) * factor)};
  }
  return work;
}

std::optional<StageBalance> stage_balance(const JobLayout& layout, const JobReplay& replay) {
  std::vector<Seconds> times = stage_times(layout, replay);
  if (times.size() < 2 || std::ranges::min(times) <= Seconds{0}) return std::nullopt;
  StageBalance balance;
  const auto slowest = std::ranges::max_element(times);
  balance.slowest = static_cast<int>(slowest - times.begin());
  const double time = slowest->count();
  times.erase(slowest);
  balance.more = time / mean(times) - 1;
  const std::vector<Ns> steps = step_times_of(replay, balanced_work(layout, replay));
  double sum = 0;
  for (const Ns step : steps) sum += static_cast<double>(step.count());
  balance.step = Seconds{sum / static_cast<double>(steps.size()) * 1e-9};
  return balance;
}

}  // namespace stepscope
