// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/phase_times.h"

#include <algorithm>
#include <functional>

#include "stepscope/diagnose/thresholds.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

double sum_of(const PhaseTimes& times, StepPartKind kind) {
  double sum = 0;
  for (const PhaseRow& row : times.rows)
    if (row.kind == kind) sum += row.mean_ns;
  return sum;
}

std::optional<OverlapOfTimes> overlap_of(const PhaseTimes& times) {
  const auto rest = [](const PhaseRow& row) {
    return row.kind == StepPartKind::data || row.kind == StepPartKind::other;
  };
  OverlapOfTimes o{.computation_ns = sum_of(times, StepPartKind::computation) +
                                     sum_of(times, StepPartKind::optimizer),
                   .communication_ns = sum_of(times, StepPartKind::communication)};
  if (times.summed || std::ranges::any_of(times.rows, rest) || !(o.computation_ns > 0) ||
      !(o.communication_ns > 0))
    return std::nullopt;
  // Times are rounded where they are printed.
  constexpr double rounded = 0.999;
  if (times.step_ns < rounded * std::max(o.computation_ns, o.communication_ns)) return o;
  o.efficiency = std::clamp((o.computation_ns + o.communication_ns - times.step_ns) /
                                std::min(o.computation_ns, o.communication_ns),
                            0.0, 1.0);
  return o;
}

CheckLine overlap_line(const OverlapOfTimes& o, double step_ns) {
  const Nanoseconds computation(o.computation_ns);
  const Nanoseconds communication(o.communication_ns);
  const double sum = o.computation_ns + o.communication_ns;
  CheckLine line{.name = "overlap", .value = o.efficiency, .sentence = {}};
  if (!o.efficiency) {
    line.sentence = msg::times_of_other_steps(computation, communication, Nanoseconds(step_ns));
    return line;
  }
  line.status = *o.efficiency < threshold::little_overlap ? CheckStatus::look : CheckStatus::good;
  line.sentence =
      step_ns >= sum
          ? msg::times_do_not_overlap(computation, communication, Nanoseconds(step_ns),
                                      Nanoseconds(step_ns - sum))
          : msg::times_overlap(Percent{*o.efficiency}, computation, communication,
                               Nanoseconds(step_ns), Nanoseconds(sum),
                               Nanoseconds(std::max(o.computation_ns, o.communication_ns)));
  return line;
}

}  // namespace

std::optional<PhaseTimes> phase_times(const StepParts& parts,
                                      std::optional<std::int64_t> counted_from) {
  PhaseTimes out{.summed = parts.summed};
  std::vector<std::vector<double>> times(parts.names.size());
  std::vector<double> steps;
  for (const StepPartsRow& row : parts.rows) {
    if (!(row.step_ns > 0) || (counted_from && row.step < *counted_from)) continue;
    steps.push_back(row.step_ns);
    for (std::size_t i = 0; i < row.ns.size(); ++i)
      if (row.ns[i] > 0) times[i].push_back(row.ns[i]);
  }
  if (steps.empty()) return std::nullopt;
  out.step_ns = *mean(steps);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].empty()) continue;
    PhaseRow row{.name = parts.names[i].name, .kind = parts.names[i].kind};
    row.count = times[i].size();
    row.mean_ns =
        *mean(times[i]) * static_cast<double>(row.count) / static_cast<double>(steps.size());
    row.stdev_ns = sample_stdev(times[i]);
    row.max_ns = std::ranges::max(times[i]);
    row.share = row.mean_ns / out.step_ns;
    out.rows.push_back(std::move(row));
  }
  if (out.rows.empty()) return std::nullopt;
  std::ranges::stable_sort(out.rows, std::greater<>(), &PhaseRow::mean_ns);
  out.overlap = overlap_of(out);
  return out;
}

std::vector<CheckLine> phase_lines(const PhaseTimes& times) {
  const PhaseRow& most = times.rows.front();
  const double computing = sum_of(times, StepPartKind::computation);
  const double communicating = sum_of(times, StepPartKind::communication);
  std::vector<std::string> computations;
  for (const PhaseRow& row : times.rows)
    if (row.kind == StepPartKind::computation) computations.push_back(row.name);
  std::ranges::reverse(computations);
  const bool both = computing > 0 && communicating > 0;
  std::vector<CheckLine> lines;
  lines.push_back(
      {.name = "phases",
       .status = most.kind == StepPartKind::computation ? CheckStatus::good : CheckStatus::look,
       .value = most.share,
       .sentence = msg::phase_takes_most(
           most.name, Nanoseconds(most.mean_ns), Percent{most.share}, !times.summed,
           value_if(both, Digits{both ? communicating / computing : 0}), computations)});
  if (times.overlap) lines.push_back(overlap_line(*times.overlap, times.step_ns));
  return lines;
}

}  // namespace stepscope
