// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/compare_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/report/sentences/compare_sentence.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
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
                     {"n_eff"}},
                    {arm_row("A", r.label_a, r.runs.a), arm_row("B", r.label_b, r.runs.b)}, width);
}

std::string test_text(const Comparison& r) {
  const RatioTest& t = r.runs.ratio;
  if (!t.interval) return {};
  return say(msg::ratio_tested(Digits{t.ratio}, Digits{t.interval->first},
                               Digits{t.interval->second}, p_in_words(*t.p_steps),
                               t.p_launches ? p_in_words(*t.p_launches) : Message())) +
         '\n';
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
  return out + notes_text(r.warnings, width) + details_line(options);
}

std::string sweep_text(const SweepResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(printable(say_stopped(sweep_sentence(r))), width) + '\n';
  std::vector<std::vector<std::string>> rows;
  for (const SweptValue& v : r.sweep.values)
    rows.push_back({printable(v.value), std::to_string(v.arm.steps), format_time(v.arm.median_ns),
                    beside_best(v), interval_of(v), v.q ? fmt::format("{:.3f}", *v.q) : "-",
                    v.tie ? "tie" : ""});
  out += text_table({{printable(r.name), false},
                     {"steps"},
                     {"median"},
                     {"beside best"},
                     {"interval"},
                     {"q"},
                     {"", false}},
                    std::move(rows), width);
  return out + notes_text(r.warnings, width) + details_line(options);
}

}  // namespace stepscope
