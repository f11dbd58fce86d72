// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/compare/compare_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/vocabulary.h"

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
  if (!t.p) {
    const bool of_a = r.runs.a.steps == least;
    const auto warm_up = warm_up_of(of_a ? r.runs.a : r.runs.b);
    return msg::too_few_for_spread(of_a ? "A" : "B", least,
                                   value_if(warm_up.steps > 0, warm_up.steps),
                                   Digits{warm_up.times_as_long});
  }
  return msg::few_effective(Digits{r.runs.a.n_eff}, Digits{r.runs.b.n_eff},
                            t.interval ? interval_in_words(r) : Message(), p_in_words(*t.p));
}

// Why arms without a common step are not distinguished: that is exact for steps that are
// independent of each other, which those of one launch are not.
Message why_separated_is_too_little(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  if (!t.p_separated || *t.p_separated >= r.options.ratio.alpha) return {};
  return msg::launches_may_differ(t.ratio > 1, Percent{r.options.ratio.large - 1});
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
  const double longer = std::fabs(t.b.median - t.a.median);
  const Message differ = longer == 0 ? msg::steps_alike()
                                     : msg::steps_differ(Digits{change * 100}, change < 0.001,
                                                         t.ratio >= 1, Nanoseconds(longer));
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
  return joined(msg::sentences, {msg::not_enough_data(differ, too_few(r)),
                                 why_separated_is_too_little(r), more_steps(r)});
}

std::vector<std::string> ties_of(const Sweep& sweep) {
  std::vector<std::string> ties;
  for (const SweptValue& v : sweep.values)
    if (v.tie) ties.push_back(v.value);
  return ties;
}

Message sweep_sentence(const SweepResult& r) {
  const SweptValue& best = r.sweep.values[r.sweep.best];
  const std::vector<std::string> ties = ties_of(r.sweep);
  const Nanoseconds median(best.arm.median_ns);
  Messages parts = {ties.empty() ? msg::fastest_value(r.name, best.value, median)
                                 : msg::values_tie(r.name, best.value, median, ties)};
  if (r.sweep.values.size() == 1) {
    parts.push_back(msg::nothing_beside());
    return msg::clauses(std::move(parts));
  }
  if (!r.sweep.enough_data)
    parts.push_back(msg::values_not_told_apart(Digits{r.options.ratio.least_effective}));
  if (ties.empty()) parts.push_back(msg::others_slower());
  return msg::clauses(std::move(parts));
}

namespace {

Json range(const std::optional<std::pair<double, double>>& interval) {
  return interval ? Json::array({interval->first, interval->second}) : Json(nullptr);
}

// The time of one call; absent without a call.
std::optional<double> per_call(double ns, const std::optional<double>& calls) {
  return calls && *calls > 0 ? std::optional(ns / *calls) : std::nullopt;
}

Json part_tree(const PartDifference& part) {
  return {{"kind", name_of(part_kind_names, part.kind)},
          {"name", part.name},
          {"shape", text_or_null(part.shapes)},
          {"a_ns", part.test.a},
          {"b_ns", part.test.b},
          {"difference_ns", part.test.difference},
          {"a_calls", real(part.a_calls)},
          {"b_calls", real(part.b_calls)},
          {"a_call_ns", real(per_call(part.test.a, part.a_calls))},
          {"b_call_ns", real(per_call(part.test.b, part.b_calls))},
          {"interval_ns", range(part.test.interval)},
          {"p", real(part.test.p)},
          {"q", real(part.q)},
          {"called", part.called}};
}

Json drift_tree(const std::optional<LaunchDrift>& drift) {
  if (!drift) return nullptr;
  return {
      {"per_launch", std::expm1(drift->slope)}, {"p", drift->p}, {"bias", std::expm1(drift->bias)}};
}

// The times in ascending order; of more than 1,000 those at evenly spaced places, both ends among
// them.
Json times_of_launch(const ComparedLaunch& launch) {
  constexpr std::size_t max_pairs = 1000;
  const std::vector<double>& all = launch.sorted_ns;
  const std::size_t shown = std::min(all.size(), max_pairs);
  Json times = Json::array();
  for (std::size_t i = 0; i < shown; ++i)
    times.push_back(std::llround(all[shown < 2 ? 0 : i * (all.size() - 1) / (shown - 1)]));
  return times;
}

Json changes_of_launch(const ComparedLaunch& launch) {
  Json changes = Json::array();
  for (const ChangePoint& c : launch.changes)
    changes.push_back({{"step", c.at}, {"before_ns", c.before}, {"after_ns", c.after}});
  return changes;
}

}  // namespace

Json arm_tree(const std::string& label, const ComparedArm& arm) {
  Json launches = Json::array();
  for (const ComparedLaunch& l : arm.launches)
    launches.push_back({{"name", l.name},
                        {"source", l.source},
                        {"steps", l.steps},
                        {"warm_up", l.warm_up},
                        {"unsettled", l.unsettled},
                        {"changes", changes_of_launch(l)},
                        {"median_ns", l.median_ns},
                        {"mean_ns", l.mean_ns},
                        {"sorted_ns", times_of_launch(l)}});
  Json outliers = Json::array();
  for (const OutlierGroup& g : arm.outliers)
    outliers.push_back({{"cause", g.cause},
                        {"count", g.count},
                        {"median_ns", g.median_ns},
                        {"extra_ns", g.extra_ns},
                        {"every", g.every ? Json(*g.every) : Json(nullptr)}});
  return {{"label", label},
          {"steps", arm.steps},
          {"median_ns", arm.median_ns},
          {"mean_ns", arm.mean_ns},
          {"stdev_ns", real(arm.stdev_ns)},
          {"p95_ns", arm.p95_ns},
          {"tokens_per_s", real(arm.tokens_per_s)},
          {"n_eff", arm.n_eff},
          {"correlation_time", arm.correlation_time},
          {"launches", std::move(launches)},
          {"outliers", std::move(outliers)}};
}

Json compare_tree(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  const auto regression = r.regression;
  Json parts = Json::array();
  for (const PartDifference& part : r.runs.parts) parts.push_back(part_tree(part));
  return {{"schema", "stepscope.compare/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(compare_sentence(r))}}},
          {"a", arm_tree(r.label_a, r.runs.a)},
          {"b", arm_tree(r.label_b, r.runs.b)},
          {"ratio", t.ratio},
          {"interval", range(t.interval)},
          {"difference_ns", t.b.median - t.a.median},
          {"verdict", name_of(t.verdict)},
          {"n_eff_a", r.runs.a.n_eff},
          {"n_eff_b", r.runs.b.n_eff},
          {"p", real(t.p)},
          {"p_steps", real(t.p_steps)},
          {"p_launches", real(t.p_launches)},
          {"p_separated", real(t.p_separated)},
          {"few_steps", t.few},
          {"alpha", r.options.ratio.alpha},
          {"floor", r.options.ratio.floor},
          {"max_regression", real(r.max_regression)},
          {"regression", regression ? Json(*regression) : Json(nullptr)},
          {"order", text_or_null(r.order)},
          {"drift", drift_tree(r.runs.drift)},
          {"parts", std::move(parts)},
          {"terms", terms_json({"budget", "kernel_class"}, r.runs.on_cpu)},
          {"warnings", say_all(r.warnings)}};
}

Json sweep_tree(const SweepResult& r) {
  Json values = Json::array();
  for (std::size_t i = 0; i < r.sweep.values.size(); ++i) {
    const SweptValue& v = r.sweep.values[i];
    Json row = {{"value", v.value}};
    Json arm = arm_tree(fmt::format("{}={}", r.name, v.value), v.arm);
    row.update(arm);
    const auto& t = v.beside_best;
    row["ratio"] = t ? t->ratio : 1;
    row["interval"] =
        t && t->interval ? Json::array({t->interval->first, t->interval->second}) : Json(nullptr);
    row["p"] = t ? real(t->p) : Json(nullptr);
    row["q"] = real(v.q);
    row["tie"] = v.tie;
    row["best"] = i == r.sweep.best;
    values.push_back(std::move(row));
  }
  return {{"schema", "stepscope.sweep/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(sweep_sentence(r))}}},
          {"name", r.name},
          {"best", r.sweep.values[r.sweep.best].value},
          {"ties", ties_of(r.sweep)},
          {"enough_data", r.sweep.enough_data},
          {"values", std::move(values)},
          {"order", r.order},
          {"warnings", say_all(r.warnings)}};
}

std::vector<TreeTable> compare_tables(const Json& tree) {
  Json launches = Json::array();
  for (const char* arm : {"a", "b"})
    for (const Json& launch : tree[arm]["launches"]) {
      Json row = {{"arm", arm}};
      row.update(launch);
      launches.push_back(std::move(row));
    }
  Json parts = tree["parts"];
  for (Json& part : parts) {
    const Json interval = part["interval_ns"];
    part["low_ns"] = interval.is_null() ? Json(nullptr) : interval[0];
    part["high_ns"] = interval.is_null() ? Json(nullptr) : interval[1];
    part.erase("interval_ns");
  }
  return {table_of("launches", launches), table_of("parts", parts)};
}

std::vector<TreeTable> sweep_tables(const Json& tree) {
  Json rows = tree["values"];
  for (Json& row : rows) {
    const Json interval = row["interval"];
    row["low"] = interval.is_null() ? Json(nullptr) : interval[0];
    row["high"] = interval.is_null() ? Json(nullptr) : interval[1];
    row.erase("interval");
  }
  return {table_of("values", rows)};
}

namespace {

std::string arm_row_name(const ComparedArm& arm, const std::string& label) {
  return arm.launches.size() > 1 ? fmt::format("{} ({} launches)", label, arm.launches.size())
                                 : label;
}

std::vector<std::string> arm_row(const char* letter, const std::string& label,
                                 const ComparedArm& arm) {
  std::size_t warm_up = 0;
  for (const ComparedLaunch& l : arm.launches) warm_up += l.warm_up;
  std::size_t outliers = 0;
  for (const OutlierGroup& g : arm.outliers) outliers += g.count;
  return {fmt::format("{}  {}", letter, printable(arm_row_name(arm, label))),
          std::to_string(arm.steps),
          std::to_string(warm_up),
          format_time(arm.median_ns),
          format_time(arm.mean_ns),
          arm.stdev_ns ? format_percent(*arm.stdev_ns / arm.mean_ns) : "-",
          format_time(arm.p95_ns),
          std::to_string(outliers),
          format_digits(arm.n_eff)};
}

std::string arms_table(const Comparison& r, std::size_t width) {
  return text_table({{"", false},
                     {"steps"},
                     {"warm-up"},
                     {"median"},
                     {"mean"},
                     {"stdev"},
                     {"p95"},
                     {"outliers"},
                     {"effective"}},
                    {arm_row("A", r.label_a, r.runs.a), arm_row("B", r.label_b, r.runs.b)}, width);
}

std::string throughput_text(const Comparison& r) {
  const auto& [a, b] = std::pair(r.runs.a.tokens_per_s, r.runs.b.tokens_per_s);
  if (!a || !b) {
    const double rate_a = giga / r.runs.a.mean_ns;
    const double rate_b = giga / r.runs.b.mean_ns;
    return say_stopped(msg::step_rates_of_arms(format_digits(rate_a), format_digits(rate_b),
                                               format_signed_percent(rate_b / rate_a - 1))) +
           '\n';
  }
  return say_stopped(msg::throughput_of_arms(format_count(*a), format_count(*b),
                                             format_signed_percent(*b / *a - 1))) +
         '\n';
}

std::string test_text(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  if (!t.interval) return {};
  return say(msg::ratio_tested(Digits{t.ratio}, Digits{t.interval->first},
                               Digits{t.interval->second}, p_in_words(*t.p_steps),
                               t.p_launches ? p_in_words(*t.p_launches) : Message())) +
         '\n';
}

std::string name_of_part(const PartDifference& part, bool cpu) {
  switch (part.kind) {
    case PartKind::budget:
      return std::string(label_of("budget", part.name, cpu));
    case PartKind::compute:
      return std::string(label_of("kernel_class", part.name));
    case PartKind::kernel:
    case PartKind::operation:
      break;
  }
  return printable(part.name);
}

const char* title_of(PartKind kind) {
  switch (kind) {
    case PartKind::budget:
      return "What changed in a step";
    case PartKind::compute:
      return "Compute by class";
    case PartKind::kernel:
      return "Kernels";
    case PartKind::operation:
      return "Operators";
  }
  return "";
}

std::string plus(double ns) { return fmt::format("{}{}", ns > 0 ? "+" : "", format_time(ns)); }

// The parts of a kind that differ: their number, and the first `most` of them.
struct ShownParts {
  std::vector<const PartDifference*> rows;
  std::size_t differ = 0;
  std::string title;
};

ShownParts shown_parts(const RunComparison& runs, PartKind kind, std::size_t most, double alpha) {
  ShownParts shown;
  std::size_t all = 0;
  std::size_t called = 0;
  for (const PartDifference& part : runs.parts) {
    if (part.kind != kind) continue;
    ++all;
    if (part.called) ++called;
    if (part.test.difference == 0) continue;
    ++shown.differ;
    if (shown.rows.size() < most) shown.rows.push_back(&part);
  }
  shown.title = fmt::format("\n{} (B - A, mean a step; * q < {:g}: {} of {}):\n", title_of(kind),
                            alpha, called, all);
  return shown;
}

std::string parts_table(const RunComparison& runs, PartKind kind, std::size_t most, double alpha,
                        std::size_t width) {
  const ShownParts shown = shown_parts(runs, kind, most, alpha);
  std::vector<std::vector<std::string>> rows;
  for (const PartDifference* part : shown.rows) {
    const DifferenceTest& t = part->test;
    rows.push_back(
        {name_of_part(*part, runs.on_cpu), format_time(t.a), format_time(t.b), plus(t.difference),
         t.interval ? fmt::format("{} to {}", plus(t.interval->first), plus(t.interval->second))
                    : "-",
         part->q ? fmt::format("{:.3f}", *part->q) : "-", part->called ? "*" : ""});
  }
  if (rows.empty()) return {};
  return shown.title +
         text_table({{"", false}, {"A"}, {"B"}, {"B - A"}, {"interval"}, {"q"}, {"", false}},
                    std::move(rows), width);
}

// Kernels or operators: how often they run, and how long one takes.
std::string work_table(const RunComparison& runs, PartKind kind, std::size_t most, double alpha,
                       std::size_t width) {
  constexpr std::size_t longest = 36;  // of a name
  const ShownParts shown = shown_parts(runs, kind, most, alpha);
  if (shown.rows.empty()) return {};
  std::vector<std::string> names;
  for (const PartDifference* part : shown.rows) names.push_back(name_of_part(*part, runs.on_cpu));
  if (kind == PartKind::kernel) names = distinct_kernel_names(names, longest);
  const auto calls = [](const std::optional<double>& of) -> std::string {
    if (!of) return "-";
    return *of == std::round(*of) ? fmt::format("{:.0f}", *of) : format_digits(*of);
  };
  const auto call = [](double ns, const std::optional<double>& of) {
    const auto time = per_call(ns, of);
    return time ? format_time(*time) : "-";
  };
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const PartDifference& part = *shown.rows[i];
    const DifferenceTest& t = part.test;
    rows.push_back({names[i], outer_shape_in_words(part.shapes), calls(part.a_calls),
                    calls(part.b_calls), call(t.a, part.a_calls), call(t.b, part.b_calls),
                    plus(t.difference), part.q ? fmt::format("{:.3f}", *part.q) : "-",
                    part.called ? "*" : ""});
  }
  std::string out = shown.title + text_table({{"", false, longest},
                                              {"shape", false, 32},
                                              {"calls A"},
                                              {"B"},
                                              {"a call A"},
                                              {"B"},
                                              {"B - A"},
                                              {"q"},
                                              {"", false}},
                                             std::move(rows), width);
  if (shown.rows.size() < shown.differ)
    out += fmt::format("  … and {} more\n", shown.differ - shown.rows.size());
  return out;
}

std::string regression_text(const Comparison& r) {
  if (!r.max_regression) return {};
  const auto row = !r.regression   ? msg::limit_not_judged
                   : *r.regression ? msg::limit_broken
                                   : msg::limit_kept;
  return say_stopped(row(Digits{*r.max_regression * 100})) + '\n';
}

std::string beside_best(const SweptValue& v) {
  if (!v.beside_best) return "best";
  return fmt::format("{:+.1f} %", (v.beside_best->ratio - 1) * 100);
}

std::string interval_of(const SweptValue& v) {
  if (!v.beside_best || !v.beside_best->interval) return "-";
  const auto [low, high] = *v.beside_best->interval;
  return fmt::format("{:+.1f} to {:+.1f} %", (low - 1) * 100, (high - 1) * 100);
}

}  // namespace

std::string outlier_text(const std::string& label, const ComparedArm& arm) {
  Messages groups;
  for (const OutlierGroup& g : arm.outliers)
    groups.push_back(
        msg::outlier_group(g.count, printable(g.cause), Nanoseconds(g.median_ns), g.every));
  return groups.empty() ? "" : say(msg::outliers_kept(label, std::move(groups))) + '\n';
}

std::string compare_text(const Comparison& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(compare_sentence(r), width);
  out += regression_text(r);
  out += '\n' + arms_table(r, width) + throughput_text(r) + test_text(r);
  if (!r.order.empty()) out += fmt::format("launched in the order {}\n", r.order);
  for (const auto& [letter, arm] : {std::pair{"A", &r.runs.a}, std::pair{"B", &r.runs.b}})
    if (const std::string outliers = outlier_text(letter, *arm); !outliers.empty())
      out += wrapped(outliers.substr(0, outliers.size() - 1), width);
  const double alpha = r.options.ratio.alpha;
  out += parts_table(r.runs, PartKind::budget, 12, alpha, width);
  out += parts_table(r.runs, PartKind::compute, 8, alpha, width);
  const bool every = options.detail == TextDetail::all;
  for (const PartKind kind : {PartKind::operation, PartKind::kernel})
    out += work_table(r.runs, kind, every ? r.runs.parts.size() : 8, alpha, width);
  if (!r.warnings.empty()) out += '\n';
  return out + notes_text(r.warnings, width) + details_line(options);
}

std::string sweep_text(const SweepResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(printable(say_stopped(sweep_sentence(r))), width) + '\n';
  std::vector<std::vector<std::string>> rows;
  for (const SweptValue& v : r.sweep.values)
    rows.push_back({printable(v.value), std::to_string(v.arm.steps), format_time(v.arm.median_ns),
                    v.arm.stdev_ns ? format_percent(*v.arm.stdev_ns / v.arm.mean_ns) : "-",
                    beside_best(v), interval_of(v), v.q ? fmt::format("{:.3f}", *v.q) : "-",
                    v.tie ? "tie" : ""});
  out += text_table({{printable(r.name), false},
                     {"steps"},
                     {"median"},
                     {"stdev"},
                     {"against best"},
                     {"interval"},
                     {"q"},
                     {"", false}},
                    std::move(rows), width);
  return out + notes_text(r.warnings, width) + details_line(options);
}

}  // namespace stepscope
