// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

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

std::string p_in_words(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.{}f}", p, p < 0.01 ? 4 : 3);
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
                     {"n_eff"}},
                    {arm_row("A", r.label_a, r.runs.a), arm_row("B", r.label_b, r.runs.b)}, width);
}

std::string test_text(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  if (!t.interval) return {};
  std::string out = fmt::format("ratio of medians {:.4f}, interval {:.4f} to {:.4f}; ", t.ratio,
                                t.interval->first, t.interval->second);
  out += fmt::format("mean by steps {}", p_in_words(*t.p_steps));
  if (t.p_launches) out += fmt::format(", by launches {}", p_in_words(*t.p_launches));
  return out + '\n';
}

const char* title_of(PartKind kind) {
  switch (kind) {
    case PartKind::budget:
      return "What changed in a step";
    case PartKind::compute:
      return "Compute by class";
    case PartKind::kernel:
      return "Kernels";
  }
  return "";
}

std::string parts_table(const RunComparison& runs, PartKind kind, std::size_t most, double alpha,
                        std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  std::size_t all = 0;
  std::size_t called = 0;
  for (const PartDifference& part : runs.parts) {
    if (part.kind != kind) continue;
    ++all;
    if (part.called) ++called;
    if (rows.size() == most || part.test.difference == 0) continue;
    const DifferenceTest& t = part.test;
    const auto plus = [](double ns) {
      return fmt::format("{}{}", ns > 0 ? "+" : "", format_time(ns));
    };
    rows.push_back({printable(part.name), format_time(t.a), format_time(t.b), plus(t.difference),
                    t.interval
                        ? fmt::format("{} to {}", plus(t.interval->first), plus(t.interval->second))
                        : "-",
                    part.q ? fmt::format("{:.3f}", *part.q) : "-", part.called ? "*" : ""});
  }
  if (rows.empty()) return {};
  return fmt::format("\n{} (B - A, mean a step; * q < {:g}: {} of {}):\n", title_of(kind), alpha,
                     called, all) +
         text_table({{"", false}, {"A"}, {"B"}, {"B - A"}, {"interval"}, {"q"}, {"", false}},
                    std::move(rows), width);
}

std::string regression_text(const Comparison& r) {
  if (!r.max_regression) return {};
  const auto regression = r.regression;
  const std::string limit = fmt::format("--max-regression {:g} %", *r.max_regression * 100);
  if (!regression) return "Not enough data to hold B to " + limit + ".\n";
  return *regression ? "A regression: beyond " + limit + ".\n" : "Within " + limit + ".\n";
}

Json range(const std::optional<std::pair<double, double>>& interval) {
  return interval ? Json::array({interval->first, interval->second}) : Json(nullptr);
}

Json part_tree(const PartDifference& part) {
  return {{"kind", part_kind_names[static_cast<std::size_t>(part.kind)]},
          {"name", part.name},
          {"a_ns", part.test.a},
          {"b_ns", part.test.b},
          {"difference_ns", part.test.difference},
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

}  // namespace

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
  return fmt::format(
      "Not enough data: {} effective steps in A and {} in B, {:g} are needed; in "
      "what there is {}.",
      format_digits(r.runs.a.n_eff), format_digits(r.runs.b.n_eff), r.options.ratio.least_effective,
      change);
}

std::string outlier_text(const std::string& label, const ComparedArm& arm) {
  std::string out;
  for (const OutlierGroup& g : arm.outliers) {
    out += out.empty() ? fmt::format("Outliers in {}, kept: ", label) : "; ";
    out += fmt::format("{} {} (median {}{})", g.count, printable(g.cause), format_time(g.median_ns),
                       g.every ? fmt::format(", every {} steps", *g.every) : "");
  }
  return out.empty() ? out : out + '\n';
}

std::string compare_text(const Comparison& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(compare_sentence(r), width);
  out += regression_text(r);
  out += '\n' + arms_table(r, width) + test_text(r);
  if (!r.order.empty()) out += fmt::format("launched in the order {}\n", r.order);
  for (const auto& [letter, arm] : {std::pair{"A", &r.runs.a}, std::pair{"B", &r.runs.b}})
    if (const std::string outliers = outlier_text(letter, *arm); !outliers.empty())
      out += wrapped(outliers.substr(0, outliers.size() - 1), width);
  const double alpha = r.options.ratio.alpha;
  out += parts_table(r.runs, PartKind::budget, 12, alpha, width);
  out += parts_table(r.runs, PartKind::compute, 8, alpha, width);
  out += parts_table(r.runs, PartKind::kernel, 10, alpha, width);
  if (!r.warnings.empty()) out += '\n';
  for (const std::string& w : r.warnings)
    out += wrapped("note: " + shorten(printable(w), note_width), width);
  return out;
}

Json arm_tree(const std::string& label, const ComparedArm& arm) {
  Json launches = Json::array();
  for (const ComparedLaunch& l : arm.launches)
    launches.push_back({{"name", l.name},
                        {"source", l.source},
                        {"steps", l.steps},
                        {"warm_up", l.warm_up},
                        {"unsettled", l.unsettled},
                        {"median_ns", l.median_ns},
                        {"mean_ns", l.mean_ns}});
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
          {"answer", {{"sentence", compare_sentence(r)}}},
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
          {"alpha", r.options.ratio.alpha},
          {"floor", r.options.ratio.floor},
          {"max_regression", real(r.max_regression)},
          {"regression", regression ? Json(*regression) : Json(nullptr)},
          {"order", text_or_null(r.order)},
          {"drift", drift_tree(r.runs.drift)},
          {"parts", std::move(parts)},
          {"warnings", r.warnings}};
}

std::vector<CsvFile> compare_csv(const Json& tree) {
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
  std::vector<CsvFile> files = {csv_table("launches.csv", launches), csv_table("parts.csv", parts)};
  std::erase_if(files, [](const CsvFile& f) { return f.text.empty(); });
  return files;
}

}  // namespace stepscope
