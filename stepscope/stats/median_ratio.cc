// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/median_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "stepscope/stats/block_bootstrap.h"
#include "stepscope/stats/few_steps.h"
#include "stepscope/stats/hampel.h"
#include "stepscope/stats/student_t.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

using Launches = std::vector<std::vector<double>>;
using LogInterval = std::pair<double, double>;

std::vector<Series> views(const Launches& launches) { return {launches.begin(), launches.end()}; }

std::vector<double> all_of(std::span<const Series> launches) {
  std::vector<double> all;
  for (const Series s : launches) all.insert(all.end(), s.begin(), s.end());
  return all;
}

// Hampel's limits of all launches together; infinite where the values are too few for outliers.
HampelLimits limits_of(std::span<const Series> launches) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> all = all_of(launches);
  if (all.size() < fewest_with_outliers) return {.low = -infinite, .high = infinite};
  return *hampel_limits(all);
}

// The same, with values beyond the limits moved onto them.
Launches within_limits(std::span<const Series> launches) {
  const HampelLimits limits = limits_of(launches);
  Launches kept;
  for (const Series s : launches) kept.push_back(clipped(s, limits));
  return kept;
}

// The same, with each value beyond the limits replaced by the mean of its nearest neighbours within
// them.
Launches without_outliers(std::span<const Series> launches) {
  const HampelLimits limits = limits_of(launches);
  Launches kept;
  for (const Series s : launches) {
    std::vector<double>& out = kept.emplace_back(s.begin(), s.end());
    const auto within = [&](double v) { return v >= limits.low && v <= limits.high; };
    for (std::size_t i = 0; i < s.size();) {
      if (within(s[i])) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < s.size() && !within(s[end])) ++end;
      if (i == 0 && end == s.size()) break;
      const double before = i > 0 ? out[i - 1] : s[end];
      const double after = end < s.size() ? s[end] : before;
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(i),
                out.begin() + static_cast<std::ptrdiff_t>(end), (before + after) / 2);
      i = end;
    }
  }
  return kept;
}

// The long run of logarithms; `clipped` is within_limits(logs).
LongRun long_run_of_logs(std::span<const Series> logs, std::span<const Series> clipped) {
  LongRun run = long_run(clipped);
  const Launches smooth = without_outliers(logs);
  const LongRun quiet = long_run(views(smooth));
  if (!(run.variance > 0) || !(quiet.variance > 0)) return run;
  const double outliers = std::max(run.variance - quiet.variance, 0.0);
  const double time = (quiet.variance * quiet.time + outliers) / run.variance;
  if (time > run.time) {
    run.time = std::min(time, static_cast<double>(run.count));
    run.effective = static_cast<double>(run.count) / run.time;
  }
  run.degrees = std::min(run.degrees, quiet.degrees);
  return run;
}

double p_of(const MeanEstimate& difference) {
  const double error = std::sqrt(difference.variance);
  if (error > 0) return student_t_tails(std::fabs(difference.mean) / error, difference.degrees);
  return difference.mean == 0 ? 1 : 0;
}

// Half of the interval.
double half_of(const MeanEstimate& difference, double alpha) {
  const double error = std::sqrt(difference.variance);
  return error > 0 ? student_t_critical(alpha, difference.degrees) * error : 0;
}

MeanEstimate by_steps(std::span<const Series> launches, const LongRun& run) {
  return {.mean = *mean(all_of(launches)), .variance = run.mean_variance(), .degrees = run.degrees};
}

// The difference of arms of few steps. With as many steps in each, the test is exact enough for
// arms of different variances, too, and the variances count as equal. Outliers hide the correlation
// of the other steps, so from `tells_outliers` steps an arm on the larger bound counts, with them
// and without. Among fewer steps a mean of neighbours in an outlier's place looks like correlation.
MeanEstimate of_few_steps(std::span<const Series> a, std::span<const Series> b) {
  constexpr std::size_t tells_outliers = 7;
  double lag1 = lag1_bound(a, b);
  if (std::min(all_of(a).size(), all_of(b).size()) >= tells_outliers) {
    const Launches smooth_a = without_outliers(a);
    const Launches smooth_b = without_outliers(b);
    lag1 = std::max(lag1, lag1_bound(views(smooth_a), views(smooth_b)));
  }
  return difference_of(mean_estimate(a, lag1), mean_estimate(b, lag1),
                       all_of(a).size() == all_of(b).size());
}

// More steps show their correlation well enough, and the bound would only cost time.
constexpr std::size_t most_few = 200;
// Beyond this ratio an interval says that nothing is known.
constexpr double widest = 100;

// What two arms of an AR(1) with a coefficient of up to 0.99 show at most. Welch's test has too few
// degrees of freedom for strongly correlated steps to ever call a change; this bound needs none.
struct FarApart {
  double p = 1;
  double half = 0;  // of the interval of the difference, at level alpha
};

double squares_within(std::span<const Series> launches) {
  double sum = 0;
  for (const Series s : launches) {
    const double middle = s.empty() ? 0 : *mean(s);
    for (const double v : s) sum += (v - middle) * (v - middle);
  }
  return sum;
}

// Let x be the difference of the means x sqrt(n) / the standard deviation within the arms. In pairs
// of equal arms with a coefficient of 0.99, 5 % have x > 75 with 3 steps (65 with 4, 54 with 100),
// 1 % x > 124 and 0.5 % x > 150, so P falls like x^-3. Where Hampel's limits cut the spread of few
// steps, 5 % have x > 110 (simulated; EqualArmsOfFewStepsAreRarelyCalledDifferent).
FarApart far_apart(std::span<const Series> a, const LongRun& run_a, std::span<const Series> b,
                   const LongRun& run_b, double difference, double alpha) {
  constexpr double rarely = 110;
  constexpr double chance = 0.05;
  const std::size_t n = std::min(run_a.count, run_b.count);
  if (n < 3) return {.p = 1, .half = std::numeric_limits<double>::infinity()};
  const double deviation = std::sqrt((squares_within(a) / static_cast<double>(run_a.count) +
                                      squares_within(b) / static_cast<double>(run_b.count)) /
                                     2);
  const double bound = rarely / std::sqrt(static_cast<double>(n)) * deviation;
  FarApart far{.half = bound * std::cbrt(chance / alpha)};
  if (difference != 0) far.p = std::min(1.0, chance * std::pow(bound / std::fabs(difference), 3));
  return far;
}

// Whether all steps of an arm are longer than all of the other.
struct Separated {
  double p = 1;  // of exchangeable steps
  // The shifts of B after which the arms are not separated: the exact interval of the difference at
  // level p.
  LogInterval shifts{};
};

std::optional<Separated> separated(std::span<const Series> a, std::span<const Series> b) {
  const std::vector<double> of_a = all_of(a);
  const std::vector<double> of_b = all_of(b);
  const auto [least_a, most_a] = std::ranges::minmax(of_a);
  const auto [least_b, most_b] = std::ranges::minmax(of_b);
  const LogInterval shifts = {least_b - most_a, most_b - least_a};
  if (shifts.first <= 0 && shifts.second >= 0) return std::nullopt;
  const auto log_factorial = [](std::size_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return Separated{2 * std::exp(log_factorial(of_a.size()) + log_factorial(of_b.size()) -
                                log_factorial(of_a.size() + of_b.size())),
                   shifts};
}

std::optional<MeanEstimate> by_launches(std::span<const Series> launches) {
  std::vector<double> means;
  for (const Series s : launches)
    if (!s.empty()) means.push_back(*mean(s));
  if (means.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(means.size());
  const double deviation = *sample_stdev(means);
  return MeanEstimate{
      .mean = *mean(means), .variance = deviation * deviation / n, .degrees = n - 1};
}

std::optional<MeanEstimate> difference_of_launches(std::span<const Series> a,
                                                   std::span<const Series> b) {
  const auto of_a = by_launches(a);
  const auto of_b = by_launches(b);
  if (!of_a || !of_b) return std::nullopt;
  return difference_of(*of_a, *of_b);
}

// Long-run variance of the signs of `n` values of an AR(1) around its median, by Sheppard's formula
// for the normal distribution.
double sign_variance(double lag1, double n) {
  double sum = 1;
  double power = lag1;
  for (std::size_t k = 1; static_cast<double>(k) < n && power > 1e-6; ++k) {
    sum += 2 * (1 - static_cast<double>(k) / n) * (2 * std::numbers::inv_pi) * std::asin(power);
    power *= lag1;
  }
  return sum;
}

// Replicates around the median of the logarithms, scaled to the long-run variance.
std::vector<double> deviations(std::span<const Series> launches, const LongRun& run,
                               const RatioOptions& options, std::uint64_t stream) {
  const double each = static_cast<double>(run.count) / static_cast<double>(launches.size());
  // A thousand blocks are enough for any number of steps.
  const double length = std::max({2 * std::cbrt(each), 2 * run.time, each / 1000});
  const auto block =
      static_cast<std::size_t>(std::lround(std::clamp(length, 1.0, std::max(each / 4, 1.0))));
  MedianBootstrap boot = bootstrap_median(
      launches,
      {.replicates = options.replicates, .block = block, .seed = 2 * options.seed + stream});
  if (!(boot.sign_variance > 0)) return std::vector<double>(boot.replicates.size(), 0.0);
  // Relative error of an estimate from n / block blocks (Bartlett's window).
  const double error =
      std::sqrt(8.0 / 3 * static_cast<double>(block) / static_cast<double>(run.count));
  const double variance =
      std::max(sign_variance(run.equivalent_lag1(), each), boot.sign_variance / (1 + 2 * error));
  const double factor = std::sqrt(variance / boot.sign_variance);
  for (double& v : boot.replicates) v = (v - boot.median) * factor;
  return std::move(boot.replicates);
}

LogInterval wider(const LogInterval& a, const LogInterval& b) {
  return {std::min(a.first, b.first), std::max(a.second, b.second)};
}

// The interval of the logarithm of the ratio, by the bootstrap. `degrees`: of the variances.
LogInterval interval_of_medians(std::span<const Series> log_a, std::span<const Series> log_b,
                                const RatioTest& t, double degrees, const RatioOptions& options) {
  std::vector<double> apart = deviations(log_b, t.b.run, options, 1);
  const std::vector<double> other = deviations(log_a, t.a.run, options, 0);
  for (std::size_t i = 0; i < apart.size(); ++i) apart[i] -= other[i];
  std::ranges::sort(apart);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double widen =
      student_t_critical(options.alpha, degrees) / student_t_critical(options.alpha, infinite);
  const double centre = std::log(t.ratio);
  return {centre + widen * *quantile_sorted(apart, options.alpha / 2),
          centre + widen * *quantile_sorted(apart, 1 - options.alpha / 2)};
}

Verdict verdict_of(const RatioTest& t, const RatioOptions& options) {
  if (!t.interval || !t.p) return Verdict::not_enough_data;
  const auto [low, high] = *t.interval;
  const bool matters = std::fabs(t.ratio - 1) >= options.floor && t.ratio != 1;
  if (matters && *t.p < options.alpha && (low > 1 || high < 1))
    return t.ratio > 1 ? Verdict::slower : Verdict::faster;
  if (t.few) return Verdict::not_enough_data;
  if (low >= 1 - options.floor && high <= 1 + options.floor) return Verdict::same;
  return Verdict::inconclusive;
}

Launches logarithms(std::span<const Series> launches) {
  Launches logs;
  for (const Series s : launches) {
    if (s.empty()) continue;
    logs.emplace_back(s.size());
    std::ranges::transform(s, logs.back().begin(), [](double x) { return std::log(x); });
  }
  return logs;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 5> names = {"not_enough_data", "faster", "slower", "same",
                                                     "inconclusive"};
  return names[static_cast<std::size_t>(verdict)];
}

RatioTest test_ratio(std::span<const Series> a, std::span<const Series> b,
                     const RatioOptions& options) {
  const Launches logs_a = logarithms(a);
  const Launches logs_b = logarithms(b);
  const std::vector<Series> log_a = views(logs_a);
  const std::vector<Series> log_b = views(logs_b);
  const Launches kept_a = within_limits(log_a);
  const Launches kept_b = within_limits(log_b);
  const std::vector<Series> in_a = views(kept_a);
  const std::vector<Series> in_b = views(kept_b);
  RatioTest t;
  t.a = {.median = *median(all_of(a)), .run = long_run_of_logs(log_a, in_a)};
  t.b = {.median = *median(all_of(b)), .run = long_run_of_logs(log_b, in_b)};
  t.ratio = t.b.median / t.a.median;
  if (t.a.run.count < 2 || t.b.run.count < 2) return t;
  t.few = std::min(t.a.run.effective, t.b.run.effective) < options.least_effective;
  if (std::min(t.a.run.count, t.b.run.count) < 3) return t;
  const bool bounded = t.few || std::min(t.a.run.count, t.b.run.count) <= most_few;
  const MeanEstimate few = bounded ? of_few_steps(log_a, log_b) : MeanEstimate();
  const MeanEstimate steps =
      t.few ? few : difference_of(by_steps(in_a, t.a.run), by_steps(in_b, t.b.run));
  const FarApart far = far_apart(in_a, t.a.run, in_b, t.b.run, steps.mean, options.alpha);
  const double centre = std::log(t.ratio);
  auto apart_by = separated(in_a, in_b);
  if (apart_by) t.p_separated = apart_by->p;
  if (apart_by && (std::fabs(centre) < std::log(options.large) || apart_by->p >= options.alpha))
    apart_by.reset();
  t.p_steps =
      std::min({p_of(steps), bounded ? p_of(few) : 1.0, far.p, apart_by ? apart_by->p : 1.0});
  t.p = t.p_steps;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  LogInterval logs = {-infinite, infinite};
  if (!t.few) logs = interval_of_medians(log_a, log_b, t, steps.degrees, options);
  const double reach = std::min(far.half, bounded ? half_of(few, options.alpha) : infinite);
  logs = {std::max(logs.first, centre - reach), std::min(logs.second, centre + reach)};
  if (apart_by)
    logs = {std::max(logs.first, apart_by->shifts.first),
            std::min(logs.second, apart_by->shifts.second)};
  if (const auto launches = difference_of_launches(in_a, in_b)) {
    t.p_launches = p_of(*launches);
    t.p = std::max(*t.p, *t.p_launches);
    const double half = half_of(*launches, options.alpha);
    logs = wider(logs, {centre - half, centre + half});
  }
  if (std::max(-logs.first, logs.second) <= std::log(widest))
    t.interval = LogInterval{std::exp(logs.first), std::exp(logs.second)};
  t.verdict = verdict_of(t, options);
  return t;
}

LongRun long_run_of_steps(std::span<const Series> launches) {
  const Launches logs = logarithms(launches);
  const std::vector<Series> in_logs = views(logs);
  const Launches kept = within_limits(in_logs);
  return long_run_of_logs(in_logs, views(kept));
}

DifferenceTest test_difference(std::span<const Series> a, std::span<const Series> b, double alpha) {
  DifferenceTest t;
  const LongRun run_a = long_run(a);
  const LongRun run_b = long_run(b);
  if (run_a.count == 0 || run_b.count == 0) return t;
  const MeanEstimate steps = difference_of(by_steps(a, run_a), by_steps(b, run_b));
  t.a = *mean(all_of(a));
  t.b = *mean(all_of(b));
  t.difference = t.b - t.a;
  if (run_a.count < 2 || run_b.count < 2) return t;
  t.p = p_of(steps);
  double half = half_of(steps, alpha);
  if (const auto launches = difference_of_launches(a, b)) {
    t.p = std::max(*t.p, p_of(*launches));
    half = std::max(half, half_of(*launches, alpha));
  }
  t.interval = std::pair(t.difference - half, t.difference + half);
  return t;
}

std::optional<LaunchDrift> find_launch_drift(std::span<const bool> in_b,
                                             std::span<const double> value) {
  const std::size_t n = value.size();
  std::array<double, 2> count{};
  std::array<double, 2> place{};
  std::array<double, 2> middle{};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t arm = in_b[i] ? 1 : 0;
    count[arm] += 1;
    place[arm] += static_cast<double>(i);
    middle[arm] += value[i];
  }
  if (n < 5 || count[0] == 0 || count[1] == 0) return std::nullopt;
  for (const std::size_t arm : {0U, 1U}) {
    place[arm] /= count[arm];
    middle[arm] /= count[arm];
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t arm = in_b[i] ? 1 : 0;
    const double x = static_cast<double>(i) - place[arm];
    const double y = value[i] - middle[arm];
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (!(xx > 0)) return std::nullopt;
  LaunchDrift drift{.slope = xy / xx};
  const double degrees = static_cast<double>(n) - 3;
  const double rest = std::max(yy - drift.slope * xy, 0.0) / degrees;
  drift.p = rest > 0 ? student_t_tails(std::fabs(drift.slope) / std::sqrt(rest / xx), degrees)
                     : (drift.slope == 0 ? 1 : 0);
  drift.bias = drift.slope * (place[1] - place[0]);
  return drift;
}

}  // namespace stepscope
