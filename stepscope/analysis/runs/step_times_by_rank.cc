// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/step_times_by_rank.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/executed.h"
#include "stepscope/analysis/work/op_work.h"
#include "stepscope/stats/hampel.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// By step of the job; 0 where the rank lacks it.
using TimesOfRank = std::vector<double>;

std::optional<StepStatistics> statistics_of(std::vector<double> times) {
  std::erase(times, 0.0);
  if (times.empty()) return std::nullopt;
  StepStatistics s{.steps = times.size()};
  if (const auto limits = usual_interval(times))
    s.outliers = static_cast<std::size_t>(std::ranges::count_if(
        times, [&](double t) { return t < limits->first || t > limits->second; }));
  std::ranges::sort(times);
  s.min_ns = times.front();
  s.median_ns = *quantile_sorted(times, 0.5);
  s.mean_ns = *mean(times);
  s.p95_ns = *quantile_sorted(times, 0.95);
  s.max_ns = times.back();
  return s;
}

std::map<int, TimesOfRank> times_by_rank(std::span<const NumberedStep> job,
                                         std::span<const RankOfStep> ranks) {
  std::unordered_map<std::int64_t, std::size_t> place;
  for (std::size_t i = 0; i < job.size(); ++i) place[job[i].number] = i;
  std::map<int, TimesOfRank> times;
  for (const RankOfStep& r : ranks) {
    const auto at = place.find(r.number);
    if (at == place.end() || !(r.wall_ns > 0)) continue;
    TimesOfRank& of_rank = times.try_emplace(r.rank, job.size(), 0.0).first->second;
    of_rank[at->second] = std::max(of_rank[at->second], r.wall_ns);
  }
  return times;
}

// The median of each step over ranks; 0 with fewer than two ranks.
std::vector<double> medians_over_ranks(const std::map<int, TimesOfRank>& ranks, std::size_t steps) {
  std::vector<double> medians(steps, 0.0);
  std::vector<double> at_step;
  for (std::size_t i = 0; i < steps; ++i) {
    at_step.clear();
    for (const auto& [rank, times] : ranks)
      if (times[i] > 0) at_step.push_back(times[i]);
    if (at_step.size() > 1) medians[i] = *median(at_step);
  }
  return medians;
}

std::optional<double> deviation_at(const TimesOfRank& times, const std::vector<double>& medians,
                                   std::size_t step) {
  if (!(times[step] > 0) || !(medians[step] > 0)) return std::nullopt;
  return times[step] / medians[step] - 1;
}

// The parts of [0, n) of about equal size, at most `most` of them: where each begins, then n.
std::vector<std::size_t> cut_into(std::size_t n, std::size_t most) {
  const std::size_t parts = std::min(n, std::max<std::size_t>(1, most));
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i <= parts && n > 0; ++i) cuts.push_back(i * n / parts);
  return cuts;
}

std::vector<StepColumn> columns_of_job(std::span<const NumberedStep> job,
                                       const std::vector<std::size_t>& cuts) {
  std::vector<StepColumn> columns;
  std::vector<double> times;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    const auto part = job.subspan(cuts[c], cuts[c + 1] - cuts[c]);
    times.clear();
    for (const NumberedStep& s : part) times.push_back(s.wall_ns);
    columns.push_back({.first = part.front().number,
                       .last = part.back().number,
                       .min_ns = std::ranges::min(times),
                       .median_ns = *median(times),
                       .max_ns = std::ranges::max(times)});
  }
  return columns;
}

void take_furthest(std::optional<double>& cell, std::optional<double> deviation) {
  if (deviation && (!cell || std::fabs(*deviation) > std::fabs(*cell))) cell = deviation;
}

std::vector<DeviationRow> map_of(const std::map<int, TimesOfRank>& ranks,
                                 const std::vector<double>& medians,
                                 const std::vector<std::size_t>& step_cuts, std::size_t rows) {
  std::vector<DeviationRow> map;
  if (ranks.size() < 2) return map;
  const std::vector<std::size_t> rank_cuts = cut_into(ranks.size(), rows);
  auto rank = ranks.begin();
  for (std::size_t r = 0; r + 1 < rank_cuts.size(); ++r) {
    DeviationRow row{.first_rank = rank->first};
    row.cells.resize(step_cuts.size() - 1);
    for (std::size_t i = rank_cuts[r]; i < rank_cuts[r + 1]; ++i, ++rank) {
      row.last_rank = rank->first;
      for (std::size_t c = 0; c + 1 < step_cuts.size(); ++c)
        for (std::size_t s = step_cuts[c]; s < step_cuts[c + 1]; ++s)
          take_furthest(row.cells[c], deviation_at(rank->second, medians, s));
    }
    map.push_back(std::move(row));
  }
  return map;
}

}  // namespace

StepTimesByRank step_times_by_rank(std::span<const NumberedStep> job,
                                   std::span<const RankOfStep> ranks, std::size_t warm_up,
                                   const StepMapLimits& limits) {
  StepTimesByRank out{.steps = job.size(), .warm_up = std::min(warm_up, job.size())};
  const auto skipped = static_cast<std::ptrdiff_t>(out.warm_up);
  std::vector<double> walls;
  for (const NumberedStep& s : job.subspan(out.warm_up)) walls.push_back(s.wall_ns);
  out.job = statistics_of(std::move(walls));
  if (out.warm_up < job.size()) out.counted_from = job[out.warm_up].number;
  const std::map<int, TimesOfRank> times = times_by_rank(job, ranks);
  const std::vector<double> medians = medians_over_ranks(times, job.size());
  for (const auto& [rank, of_rank] : times) {
    const auto statistics = statistics_of({of_rank.begin() + skipped, of_rank.end()});
    if (!statistics) continue;
    std::vector<double> deviations;
    for (std::size_t s = out.warm_up; s < job.size(); ++s)
      if (const auto d = deviation_at(of_rank, medians, s)) deviations.push_back(*d);
    out.ranks.push_back({.rank = rank, .times = *statistics, .deviation = median(deviations)});
  }
  const std::vector<std::size_t> cuts = cut_into(job.size(), limits.columns);
  out.columns = columns_of_job(job, cuts);
  out.map = map_of(times, medians, cuts, limits.rows);
  return out;
}

namespace {

struct PartName {
  PartKind kind = PartKind::budget;
  std::string_view name;
  std::string_view shapes{};
};

// Sums over ranks by kind, name and shapes, in this order.
class Parts {
 public:
  Parts(std::size_t steps, std::size_t ranks)
      : steps_(steps), share_(1 / static_cast<double>(ranks)) {}

  void add(const PartName& part, std::size_t step, Ns time,
           std::optional<std::uint64_t> calls = {}) {
    if (time == Ns{}) return;
    Series& series = series_[{part.kind, std::string(part.name), std::string(part.shapes)}];
    series.ns.resize(steps_);
    series.ns[step] += share_ * static_cast<double>(time.count());
    if (!calls) return;
    series.calls.resize(steps_);
    series.calls[step] += share_ * static_cast<double>(*calls);
  }
  [[nodiscard]] std::vector<PartSeries> all() && {
    std::vector<PartSeries> parts;
    for (auto& [key, of] : series_)
      parts.push_back({std::get<0>(key), std::get<1>(key), std::move(of.ns), std::move(of.calls),
                       std::get<2>(key)});
    return parts;
  }

 private:
  std::size_t steps_;
  double share_;
  struct Series {
    std::vector<double> ns;
    std::vector<double> calls;
  };
  std::map<std::tuple<PartKind, std::string, std::string>, Series> series_;
};

// By step of a rank: its place in job.steps.counted, or none.
using Places = std::vector<std::optional<std::size_t>>;

Places places_of(const JobResult& job, std::span<const Step> steps) {
  Places places(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto found =
        std::ranges::lower_bound(job.steps.counted, steps[s].index, {}, &Step::index);
    if (found != job.steps.counted.end() && found->index == steps[s].index)
      places[s] = static_cast<std::size_t>(found - job.steps.counted.begin());
  }
  return places;
}

// By distinct name, so that each is looked up once per step and rank.
void add_kernels(const Trace& trace, std::span<const Step> steps, const Places& places,
                 Parts& parts) {
  struct Sum {
    std::uint64_t calls = 0;
    Ns time{};
  };
  std::map<std::pair<StringId, std::size_t>, Sum> sums;
  for (const DeviceLane& lane : index_rank(trace).devices)
    for (const SliceId op : lane.ops)
      if (const auto step = step_at(steps, trace.slices.start[index(op)]); step && places[*step]) {
        Sum& sum = sums[{trace.slices.name[index(op)], *places[*step]}];
        ++sum.calls;
        sum.time += trace.slices.dur[index(op)];
      }
  for (const auto& [key, sum] : sums)
    parts.add({PartKind::kernel, trace.strings[key.first]}, key.second, sum.time, sum.calls);
}

void add_operators(const Trace& trace, std::span<const Step> steps, const Places& places,
                   Parts& parts) {
  const RankIndex rank = index_rank(trace);
  for (const OperatorSteps& of : operator_steps(trace, rank, steps, attribute_work(trace, rank)))
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (places[s])
        parts.add({PartKind::operation, trace.strings[of.name], trace.strings[of.dims]}, *places[s],
                  of.device[s], of.calls[s]);
}

Parts parts_of(const JobResult& job) {
  return {job.steps.counted.size(), std::max<std::size_t>(job.ranks.size(), 1)};
}

}  // namespace

std::vector<PartSeries> step_parts(const JobResult& job, std::span<const RankInput> ranks) {
  Parts parts = parts_of(job);
  for (const RankResult& rank : job.ranks) {
    const AccountedSteps of = accounted_steps(rank);
    const Places places = places_of(job, of.steps);
    for (std::size_t s = 0; s < of.steps.size(); ++s) {
      if (!places[s]) continue;
      for (std::size_t c = 0; c < budget_category_count; ++c)
        parts.add({PartKind::budget, budget_category_names[c]}, *places[s], of.budgets[s].time[c]);
      if (rank.counted.classes.empty()) continue;
      for (std::size_t c = 0; c < name_class_count; ++c)
        parts.add({PartKind::compute, name_class_names[c]}, *places[s],
                  rank.counted.classes[s].compute[c]);
    }
    const auto input = std::ranges::find(ranks, rank.rank, &RankInput::rank);
    if (input != ranks.end()) add_kernels(*input->trace, of.steps, places, parts);
  }
  return std::move(parts).all();
}

std::vector<PartSeries> operator_parts(const JobResult& job, std::span<const RankInput> ranks) {
  Parts parts = parts_of(job);
  for (const RankResult& rank : job.ranks) {
    const auto input = std::ranges::find(ranks, rank.rank, &RankInput::rank);
    if (input == ranks.end()) continue;
    const std::span<const Step> steps = accounted_steps(rank).steps;
    add_operators(*input->trace, steps, places_of(job, steps), parts);
  }
  return std::move(parts).all();
}

}  // namespace stepscope
