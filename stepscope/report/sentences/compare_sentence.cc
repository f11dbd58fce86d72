// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/compare_sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

// "+2.1 %"; "+0.0 %" has no sign of its own.
std::string interval_in_words(const RatioTest& t, double alpha) {
  return fmt::format("{:g} % interval {} to {}", 100 * (1 - alpha),
                     format_signed_percent(t.interval->first - 1),
                     format_signed_percent(t.interval->second - 1));
}

std::string longer_or_less(double ratio) {
  return fmt::format("{:.{}f} % {}", std::fabs(ratio - 1) * 100,
                     std::fabs(ratio - 1) < 0.001 ? 2 : 1, ratio >= 1 ? "longer" : "less");
}

// Steps an arm after which a change of the floor would show: the interval narrows with their root.
std::string steps_needed(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const double half = (std::log(t.interval->second) - std::log(t.interval->first)) / 2;
  const double floor = std::max(r.options.ratio.floor, 0.001);
  const double more = std::pow(half / std::log1p(floor), 2);
  const auto now = static_cast<double>(std::min(r.runs.a.steps, r.runs.b.steps));
  if (!(more > 1)) return {};
  const bool launches = t.p_launches && *t.p_launches > *t.p_steps;
  if (launches) return " More launches an arm would narrow the interval: they differ most.";
  return fmt::format(" About {} steps an arm would show a change of {:.2g} %.",
                     format_count(std::ceil(now * more)), floor * 100);
}

std::string why_not_called(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const double alpha = r.options.ratio.alpha;
  if (t.interval->first <= 1 && t.interval->second >= 1)
    return "the interval holds no change at all";
  if (*t.p >= alpha)
    return fmt::format("the test of the means does not agree ({})", p_in_words(*t.p));
  return fmt::format("the change is below the practical floor of {:.2g} %",
                     r.options.ratio.floor * 100);
}

// Why the steps of `r` are too few for a verdict.
std::string too_few(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const std::size_t least = std::min(r.runs.a.steps, r.runs.b.steps);
  if (!t.p || t.p_needed == 0)
    return fmt::format("{} has {}, and fewer than 3 show no spread",
                       r.runs.a.steps == least ? "A" : "B", counted(least, "step"));
  // Exact for steps that are independent of each other, which those of one launch are not.
  if (t.p_separated && *t.p_separated < r.options.ratio.alpha)
    return fmt::format(
        "every step of {} is longer than every step of {}, but one launch of a program may differ "
        "from the next by up to {}; three launches of each, interleaved, would tell",
        t.ratio > 1 ? "B" : "A", t.ratio > 1 ? "A" : "B",
        format_percent(r.options.ratio.large - 1));
  const std::string effective =
      fmt::format("the steps are worth {} independent ones in A and {} in B; with fewer than {:g} ",
                  format_digits(r.runs.a.n_eff), format_digits(r.runs.b.n_eff),
                  r.options.ratio.least_effective);
  if (*t.p >= t.p_needed)
    return effective + fmt::format("a change is called only at p < {:.2g}, and here {}", t.p_needed,
                                   p_in_words(*t.p));
  return effective + "a small change cannot be told from none";
}

// The steps an arm that have `least_effective` independent ones.
std::string more_steps(const Comparison& r) {
  const double time = std::max(r.runs.a.correlation_time, r.runs.b.correlation_time);
  const double steps = std::ceil(r.options.ratio.least_effective * time);
  if (!(steps > static_cast<double>(std::min(r.runs.a.steps, r.runs.b.steps)))) return {};
  return fmt::format(" Record about {} steps an arm.", format_count(steps));
}

}  // namespace

std::string p_in_words(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.{}f}", p, p < 0.01 ? 4 : 3);
}

std::string compare_sentence(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const double difference = t.b.median - t.a.median;
  const std::string change =
      fmt::format("B's steps take {} than A's, {} a step", longer_or_less(t.ratio),
                  format_time(std::fabs(difference)));
  switch (t.verdict) {
    case Verdict::slower:
    case Verdict::faster:
      return fmt::format("B is {}: {} ({}, {}).", name_of(t.verdict), change,
                         interval_in_words(t, r.options.ratio.alpha), p_in_words(*t.p));
    case Verdict::same:
      return fmt::format("No difference that matters: {} ({}, within {:.2g} %).", change,
                         interval_in_words(t, r.options.ratio.alpha), r.options.ratio.floor * 100);
    case Verdict::inconclusive:
      return fmt::format("Cannot tell: {} ({}), but {}.{}", change,
                         interval_in_words(t, r.options.ratio.alpha), why_not_called(r),
                         steps_needed(r));
    case Verdict::not_enough_data:
      break;
  }
  return fmt::format("Not enough data: {}, but {}.{}", change, too_few(r), more_steps(r));
}

}  // namespace stepscope
