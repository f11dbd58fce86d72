// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/compare_sentence.h"

#include <algorithm>
#include <cmath>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

Message interval_in_words(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  return msg::ratio_interval(Digits{100 * (1 - r.options.ratio.alpha)},
                             format_signed_percent(t.interval->first - 1),
                             format_signed_percent(t.interval->second - 1));
}

// Steps an arm after which a change of the floor would show: the interval narrows with their root.
Message steps_needed(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const double half = (std::log(t.interval->second) - std::log(t.interval->first)) / 2;
  const double floor = std::max(r.options.ratio.floor, 0.001);
  const double more = std::pow(half / std::log1p(floor), 2);
  const auto now = static_cast<double>(std::min(r.runs.a.steps, r.runs.b.steps));
  if (!(more > 1)) return {};
  if (t.p_launches && *t.p_launches > *t.p_steps) return msg::more_launches_needed();
  return msg::steps_needed(format_count(std::ceil(now * more)), Digits{floor * 100});
}

Message why_not_called(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  if (t.interval->first <= 1 && t.interval->second >= 1) return msg::interval_holds_none();
  if (*t.p >= r.options.ratio.alpha) return msg::means_disagree(p_in_words(*t.p));
  return msg::below_floor(Digits{r.options.ratio.floor * 100});
}

// Why the steps of `r` are too few for a verdict.
Message too_few(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const std::size_t least = std::min(r.runs.a.steps, r.runs.b.steps);
  if (!t.p || t.p_needed == 0)
    return msg::too_few_for_spread(r.runs.a.steps == least ? "A" : "B", least);
  // Exact for steps that are independent of each other, which those of one launch are not.
  if (t.p_separated && *t.p_separated < r.options.ratio.alpha)
    return msg::launches_may_differ(t.ratio > 1, Percent{r.options.ratio.large - 1});
  const bool by_p = *t.p >= t.p_needed;
  return msg::few_effective(Digits{r.runs.a.n_eff}, Digits{r.runs.b.n_eff},
                            Digits{r.options.ratio.least_effective},
                            value_if(by_p, Digits{t.p_needed}), value_if(by_p, p_in_words(*t.p)));
}

// The steps an arm that have `least_effective` independent ones.
Message more_steps(const Comparison& r) {
  const double time = std::max(r.runs.a.correlation_time, r.runs.b.correlation_time);
  const double steps = std::ceil(r.options.ratio.least_effective * time);
  if (!(steps > static_cast<double>(std::min(r.runs.a.steps, r.runs.b.steps)))) return {};
  return msg::record_more_steps(format_count(steps));
}

}  // namespace

Message p_in_words(double p) { return msg::p_value(value_if(p >= 0.0001, Digits{p}), p < 0.01); }

Message compare_sentence(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const double change = std::fabs(t.ratio - 1);
  const Message differ = msg::steps_differ(Digits{change * 100}, change < 0.001, t.ratio >= 1,
                                           Nanoseconds(std::fabs(t.b.median - t.a.median)));
  switch (t.verdict) {
    case Verdict::slower:
    case Verdict::faster:
      return msg::arm_differs(name_of(t.verdict), differ, interval_in_words(r), p_in_words(*t.p));
    case Verdict::same:
      return msg::arms_alike(differ, interval_in_words(r), Digits{r.options.ratio.floor * 100});
    case Verdict::inconclusive:
      return joined(
          msg::sentences,
          {msg::cannot_tell(differ, interval_in_words(r), why_not_called(r)), steps_needed(r)});
    case Verdict::not_enough_data:
      break;
  }
  return joined(msg::sentences, {msg::not_enough_data(differ, too_few(r)), more_steps(r)});
}

std::vector<std::string> ties_of(const Sweep& sweep) {
  std::vector<std::string> ties;
  for (const SweptValue& v : sweep.values)
    if (v.tie) ties.push_back(v.value);
  return ties;
}

Message sweep_sentence(const SweepResult& r) {
  const SweptValue& best = r.sweep.values[r.sweep.best];
  Messages parts = {msg::fastest_value(r.name, best.value, Nanoseconds(best.arm.median_ns))};
  if (r.sweep.values.size() == 1) {
    parts.push_back(msg::nothing_beside());
    return msg::clauses(std::move(parts));
  }
  if (!r.sweep.enough_data)
    parts.push_back(msg::values_not_told_apart(Digits{r.options.ratio.least_effective}));
  const std::vector<std::string> ties = ties_of(r.sweep);
  parts.push_back(ties.empty() ? msg::others_slower() : msg::values_tie(ties));
  return msg::clauses(std::move(parts));
}

}  // namespace stepscope
