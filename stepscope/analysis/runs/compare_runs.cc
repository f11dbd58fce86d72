// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <memory>
#include <tuple>

#include "stepscope/stats/false_discovery.h"
#include "stepscope/stats/hampel.h"
#include "stepscope/stats/summary.h"
#include "stepscope/stats/warm_up.h"

namespace stepscope {
namespace {

// The steps of a launch after its warm-up.
Series kept_steps(const LaunchSteps& launch, const ComparedLaunch& described) {
  return Series(launch.wall_ns).subspan(described.warm_up);
}

ComparedLaunch describe_launch(const LaunchSteps& launch, const CompareOptions& options) {
  ComparedLaunch d{.name = launch.name, .source = launch.source, .steps = launch.wall_ns.size()};
  if (launch.wall_ns.empty()) return d;
  if (options.warm_up) {
    d.warm_up = std::min(*options.warm_up, d.steps - 1);
  } else {
    const WarmUp found = find_warm_up(launch.wall_ns);
    d.warm_up = found.count;
    d.unsettled = found.unsettled;
  }
  const Series kept = kept_steps(launch, d);
  for (const double ns : Series(launch.wall_ns).first(d.warm_up))
    d.slowest_warm_up_ns = std::max(d.slowest_warm_up_ns, ns);
  d.changes = find_changes(kept);
  for (ChangePoint& c : d.changes) c.at += d.warm_up;
  d.sorted_ns.assign(kept.begin(), kept.end());
  std::ranges::sort(d.sorted_ns);
  d.median_ns = *quantile_sorted(d.sorted_ns, 0.5);
  d.mean_ns = *mean(kept);
  return d;
}

std::vector<Series> kept_of(std::span<const LaunchSteps> launches, const ComparedArm& arm) {
  std::vector<Series> kept;
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (!launches[i].wall_ns.empty()) kept.push_back(kept_steps(launches[i], arm.launches[i]));
  return kept;
}

std::vector<double> joined(std::span<const Series> parts) {
  std::vector<double> all;
  for (const Series s : parts) all.insert(all.end(), s.begin(), s.end());
  return all;
}

// The part of the budget that is furthest above its median in this step, if it explains half of the
// step's excess time.
std::string grown_part(const LaunchSteps& launch, std::size_t step, double extra) {
  std::string name;
  double most = extra / 2;
  for (const PartSeries& part : launch.parts) {
    if (part.kind != PartKind::budget) continue;
    const double grown = part.ns[step] - *median(part.ns);
    if (grown < most) continue;
    most = grown;
    name = part.name;
  }
  return name;
}

struct Outlier {
  std::int64_t step = 0;
  double ns = 0;
};

std::optional<std::size_t> period(std::span<const Outlier> steps) {
  if (steps.size() < 3) return std::nullopt;
  const std::int64_t every = steps[1].step - steps[0].step;
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i].step - steps[i - 1].step != every) return std::nullopt;
  return every > 0 ? std::optional(static_cast<std::size_t>(every)) : std::nullopt;
}

constexpr const char* unknown = "unknown";
constexpr const char* faster_unknown = "unknown and faster";
constexpr std::size_t of_unusual = 4;  // more than one in four without a cause are no outliers

// The steps of a launch between two changes of its level, or all of them, and which are usual.
struct Level {
  std::size_t from = 0;
  std::size_t to = 0;
  double low = 0;
  double high = 0;
  double median_ns = 0;
};

std::vector<Level> levels_of(const LaunchSteps& launch, const ComparedLaunch& described,
                             const Level& of_arm) {
  std::vector<std::size_t> cuts = {described.warm_up};
  for (const ChangePoint& c : described.changes) cuts.push_back(c.at);
  cuts.push_back(launch.wall_ns.size());
  std::vector<Level> levels;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    Level level = of_arm;
    level.from = cuts[i];
    level.to = cuts[i + 1];
    const Series times = Series(launch.wall_ns).subspan(level.from, level.to - level.from);
    const auto usual = cuts.size() > 2 ? usual_interval(times) : std::nullopt;
    if (usual) {
      std::tie(level.low, level.high) = *usual;
      level.median_ns = *median(times);
    }
    levels.push_back(level);
  }
  return levels;
}

std::vector<OutlierGroup> find_outliers(std::span<const LaunchSteps> launches,
                                        const ComparedArm& arm, std::span<const double> all) {
  const auto usual = usual_interval(all);
  std::vector<OutlierGroup> groups;
  if (!usual) return groups;
  const Level of_arm{.low = usual->first, .high = usual->second, .median_ns = arm.median_ns};
  struct Found {
    std::vector<Outlier> steps{};
    double extra_ns = 0;
  };
  std::map<std::string, Found> by_cause;
  std::int64_t base = 0;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const LaunchSteps& launch = launches[l];
    for (const Level& level : levels_of(launch, arm.launches[l], of_arm))
      for (std::size_t s = level.from; s < level.to; ++s) {
        const double ns = launch.wall_ns[s];
        if (ns >= level.low && ns <= level.high) continue;
        const double extra = ns - level.median_ns;
        std::string cause = s < launch.causes.size() ? launch.causes[s] : std::string();
        if (cause.empty()) cause = grown_part(launch, s, extra);
        if (cause.empty()) cause = ns < level.low ? faster_unknown : unknown;
        const auto number =
            s < launch.numbers.size() ? launch.numbers[s] : static_cast<std::int64_t>(s);
        Found& found = by_cause[cause];
        found.steps.push_back({base + number, ns});
        found.extra_ns += extra;
      }
    base += std::ssize(launch.wall_ns);
  }
  for (const auto& [cause, found] : by_cause) {
    const bool told = cause != unknown && cause != faster_unknown;
    if (!told && of_unusual * found.steps.size() > all.size()) continue;
    std::vector<double> times;
    for (const Outlier& o : found.steps) times.push_back(o.ns);
    groups.push_back({.cause = cause,
                      .count = found.steps.size(),
                      .median_ns = *median(times),
                      .extra_ns = found.extra_ns,
                      .every = period(found.steps)});
  }
  std::ranges::stable_sort(groups, std::greater<>(), &OutlierGroup::extra_ns);
  return groups;
}

std::vector<double> in_order(const ComparedArm& a, const ComparedArm& b,
                             const std::vector<bool>& order) {
  std::vector<double> medians;
  std::size_t next_a = 0;
  std::size_t next_b = 0;
  for (const bool in_b : order) {
    const auto& launches = in_b ? b.launches : a.launches;
    std::size_t& next = in_b ? next_b : next_a;
    if (next >= launches.size() || !(launches[next].median_ns > 0)) return {};
    medians.push_back(std::log(launches[next++].median_ns));
  }
  return medians;
}

std::optional<LaunchDrift> drift_of(const ComparedArm& a, const ComparedArm& b,
                                    const std::vector<bool>& order) {
  const std::vector<double> medians = in_order(a, b, order);
  if (medians.size() != a.launches.size() + b.launches.size()) return std::nullopt;
  const auto flags = std::make_unique<bool[]>(order.size());
  std::ranges::copy(order, flags.get());
  return find_launch_drift({flags.get(), order.size()}, medians);
}

struct PartKey {
  PartKind kind = PartKind::budget;
  std::string name{};
  std::string shapes{};
  auto operator<=>(const PartKey&) const = default;
};
using PartsByKey = std::map<PartKey, std::vector<std::vector<double>>>;

// A series of each part (`of`) in each launch with traces, without the warm-up; zeros if a launch
// lacks the part.
PartsByKey part_series(std::span<const LaunchSteps> launches, const ComparedArm& arm,
                       std::vector<double> PartSeries::* of) {
  PartsByKey series;
  std::vector<std::vector<double>> nothing;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const std::size_t first = arm.launches[l].warm_up;
    if (launches[l].parts.empty()) continue;
    const std::vector<double> zeros(launches[l].wall_ns.size() - first, 0.0);
    for (const PartSeries& part : launches[l].parts) {
      const std::vector<double>& values = part.*of;
      if (values.size() != part.ns.size()) continue;
      auto& all = series.try_emplace({part.kind, part.name, part.shapes}, nothing).first->second;
      all.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
    }
    nothing.push_back(zeros);
    for (auto& [key, all] : series)
      if (all.size() < nothing.size()) all.push_back(zeros);
  }
  if (!nothing.empty()) series.try_emplace(PartKey{}, nothing);
  return series;
}

std::vector<Series> views_of(const std::vector<std::vector<double>>& launches) {
  return {launches.begin(), launches.end()};
}

// The mean over all steps of an arm; 0 where it lacks the part.
double mean_over(const PartsByKey& series, const PartKey& key) {
  const auto at = series.find(key);
  return at == series.end() ? 0 : mean(joined(views_of(at->second))).value_or(0);
}

void adjust(std::vector<PartDifference>& parts, PartKind kind, double alpha) {
  std::vector<double> p;
  for (const PartDifference& part : parts)
    if (part.kind == kind && part.test.p) p.push_back(*part.test.p);
  const std::vector<double> q = false_discovery_rates(p);
  std::size_t at = 0;
  for (PartDifference& part : parts) {
    if (part.kind != kind || !part.test.p) continue;
    part.q = q[at++];
    part.called = *part.q < alpha && part.test.difference != 0;
  }
}

std::vector<PartDifference> differences(std::span<const LaunchSteps> a, const ComparedArm& arm_a,
                                        std::span<const LaunchSteps> b, const ComparedArm& arm_b,
                                        double alpha) {
  const auto of_a = part_series(a, arm_a, &PartSeries::ns);
  const auto of_b = part_series(b, arm_b, &PartSeries::ns);
  std::vector<PartDifference> parts;
  if (of_a.empty() || of_b.empty()) return parts;
  const auto nothing_a = of_a.find(PartKey{});
  const auto nothing_b = of_b.find(PartKey{});
  const PartsByKey calls_a = part_series(a, arm_a, &PartSeries::calls);
  const PartsByKey calls_b = part_series(b, arm_b, &PartSeries::calls);
  const auto test = [&](const PartKey& key) {
    const auto in_a = of_a.find(key);
    const auto in_b = of_b.find(key);
    const std::vector<Series> series_a =
        views_of(in_a == of_a.end() ? nothing_a->second : in_a->second);
    const std::vector<Series> series_b =
        views_of(in_b == of_b.end() ? nothing_b->second : in_b->second);
    PartDifference part{.kind = key.kind,
                        .name = key.name,
                        .shapes = key.shapes,
                        .test = test_difference(series_a, series_b, alpha),
                        .q = std::nullopt};
    if (calls_a.contains(key) || calls_b.contains(key)) {
      if (in_a == of_a.end() || calls_a.contains(key)) part.a_calls = mean_over(calls_a, key);
      if (in_b == of_b.end() || calls_b.contains(key)) part.b_calls = mean_over(calls_b, key);
    }
    parts.push_back(std::move(part));
  };
  for (const auto& [key, series] : of_a)
    if (!key.name.empty()) test(key);
  for (const auto& [key, series] : of_b)
    if (!key.name.empty() && !of_a.contains(key)) test(key);
  for (std::size_t kind = 0; kind < part_kind_names.size(); ++kind)
    adjust(parts, static_cast<PartKind>(kind), alpha);
  std::ranges::stable_sort(parts, [](const PartDifference& x, const PartDifference& y) {
    if (x.kind != y.kind) return x.kind < y.kind;
    return std::fabs(x.test.difference) > std::fabs(y.test.difference);
  });
  return parts;
}

// Tokens of the steps after warm-up over their time.
std::optional<double> tokens_per_s(std::span<const LaunchSteps> launches, const ComparedArm& arm) {
  double tokens = 0;
  double ns = 0;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    if (launches[l].tokens.size() != launches[l].wall_ns.size()) return std::nullopt;
    for (std::size_t s = arm.launches[l].warm_up; s < launches[l].wall_ns.size(); ++s) {
      tokens += launches[l].tokens[s];
      ns += launches[l].wall_ns[s];
    }
  }
  return ns > 0 ? std::optional(tokens / (ns / giga)) : std::nullopt;
}

void take_run(ComparedArm& arm, const LongRun& run) {
  arm.n_eff = run.effective;
  arm.correlation_time = run.time;
}

// Everything except the fields set by take_run().
ComparedArm arm_of(std::span<const LaunchSteps> launches, const CompareOptions& options) {
  ComparedArm arm;
  for (const LaunchSteps& l : launches) arm.launches.push_back(describe_launch(l, options));
  const std::vector<Series> kept = kept_of(launches, arm);
  const std::vector<double> all = joined(kept);
  arm.steps = all.size();
  if (all.empty()) return arm;
  arm.median_ns = *median(all);
  arm.mean_ns = *mean(all);
  arm.stdev_ns = sample_stdev(all);
  arm.p95_ns = *quantile(all, 0.95);
  arm.tokens_per_s = tokens_per_s(launches, arm);
  arm.outliers = find_outliers(launches, arm, all);
  return arm;
}

}  // namespace

ArmWarmUp warm_up_of(const ComparedArm& arm) {
  ArmWarmUp out;
  for (const ComparedLaunch& l : arm.launches) {
    out.steps += l.warm_up;
    if (arm.median_ns > 0)
      out.times_as_long = std::max(out.times_as_long, l.slowest_warm_up_ns / arm.median_ns);
  }
  return out;
}

ComparedArm describe_arm(std::span<const LaunchSteps> launches, const CompareOptions& options) {
  ComparedArm arm = arm_of(launches, options);
  if (arm.steps > 0) take_run(arm, long_run_of_steps(kept_of(launches, arm)));
  return arm;
}

RunComparison compare_runs(std::span<const LaunchSteps> a, std::span<const LaunchSteps> b,
                           const std::vector<bool>& order, const CompareOptions& options) {
  RunComparison c;
  c.a = arm_of(a, options);
  c.b = arm_of(b, options);
  const std::vector<Series> kept_a = kept_of(a, c.a);
  const std::vector<Series> kept_b = kept_of(b, c.b);
  c.ratio = test_ratio(kept_a, kept_b, options.ratio);
  take_run(c.a, c.ratio.a.run);
  take_run(c.b, c.ratio.b.run);
  c.drift = drift_of(c.a, c.b, order);
  c.parts = differences(a, c.a, b, c.b, options.ratio.alpha);
  c.on_cpu =
      std::ranges::all_of(a, &LaunchSteps::on_cpu) && std::ranges::all_of(b, &LaunchSteps::on_cpu);
  return c;
}

Sweep compare_values(std::span<const SweepValue> values, const CompareOptions& options) {
  Sweep sweep;
  for (const SweepValue& v : values)
    sweep.values.push_back({.value = v.value,
                            .arm = describe_arm(v.launches, options),
                            .beside_best = std::nullopt,
                            .q = std::nullopt});
  const auto best = std::ranges::min_element(sweep.values, {},
                                             [](const SweptValue& v) { return v.arm.median_ns; });
  sweep.best = static_cast<std::size_t>(best - sweep.values.begin());
  const std::vector<Series> fastest = kept_of(values[sweep.best].launches, best->arm);
  std::vector<double> p;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == sweep.best) continue;
    SweptValue& v = sweep.values[i];
    v.beside_best = test_ratio(fastest, kept_of(values[i].launches, v.arm), options.ratio);
    p.push_back(v.beside_best->p.value_or(1));
    if (v.beside_best->verdict == Verdict::not_enough_data) sweep.enough_data = false;
  }
  const std::vector<double> q = false_discovery_rates(p);
  std::size_t at = 0;
  for (SweptValue& v : sweep.values) {
    if (!v.beside_best) continue;
    v.q = q[at++];
    v.tie = v.beside_best->verdict != Verdict::slower || *v.q >= options.ratio.alpha;
  }
  return sweep;
}

}  // namespace stepscope
