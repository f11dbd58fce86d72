// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/expected_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

#include "stepscope/report/sentences/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {
namespace {

// Below these shares of the expected time the expectation is wrong, not the run fast.
constexpr double least_of_links = 0.8;
constexpr double least_of_products = 0.9;

std::string excess(const ExpectedLine& line) {
  if (line.expected <= 0)
    return fmt::format("{} {}, of which the model expects nothing", line.name,
                       format_seconds(line.measured));
  const double ratio = line.measured / line.expected;
  return ratio > largest_expected_ratio
             ? fmt::format("{} {} for {}", line.name, format_seconds(line.measured),
                           format_seconds(line.expected))
             : fmt::format("{} {} ({} for {})", line.name, times_in_words(ratio),
                           format_seconds(line.measured), format_seconds(line.expected));
}

}  // namespace

std::string_view words_of(StepClass c) {
  return label_of("step_class", step_class_names[static_cast<std::size_t>(c)]);
}

std::string times_in_words(double ratio) { return fmt::format("{} ×", format_digits(ratio)); }

const RankResult& rank_of(const Analysis& report, const ExpectedOperators& operators) {
  return *std::ranges::find(report.job.ranks, operators.rank, &RankResult::rank);
}

ExpectedLine pointwise_line(const StepComparison& step) {
  ExpectedLine sum{.name = "pointwise"};
  for (const ClassComparison& c : step.classes) {
    if (!is_pointwise(c.kind)) continue;
    sum.expected += c.expected;
    sum.measured += c.measured;
    sum.again += c.recompute;
  }
  return sum;
}

std::vector<ExpectedLine> outer_lines(const StepComparison& step) {
  std::vector<ExpectedLine> lines;
  for (const ClassComparison& c : step.classes)
    if (!is_pointwise(c.kind))
      lines.push_back({std::string(words_of(c.kind)), c.expected, c.measured, c.recompute});
  const ExpectedLine together = pointwise_line(step);
  if (together.expected > 0 || together.measured > 0) lines.push_back(together);
  std::ranges::stable_sort(lines, std::greater<>(), &ExpectedLine::gap);
  return lines;
}

std::string expected_step_sentence(const StepComparison& step) {
  std::string text =
      fmt::format("The step takes {} what the model expects on {} ({} for {}).",
                  times_in_words(step.measured / step.expected), printable(step.machine),
                  format_seconds(step.measured), format_seconds(step.expected));
  const std::vector<ExpectedLine> lines = outer_lines(step);
  std::vector<std::string> largest;
  for (const ExpectedLine& line : lines)
    if (largest.size() < 3 && line.gap() > 0.01 * step.measured) largest.push_back(excess(line));
  if (!largest.empty()) text += fmt::format(" Largest excess: {}.", fmt::join(largest, "; "));
  std::vector<std::string> less;
  for (auto line = lines.rbegin(); line != lines.rend() && less.size() < 2; ++line)
    if (line->gap() < -0.01 * step.measured) less.push_back(excess(*line));
  if (!less.empty()) text += fmt::format(" Less than expected: {}.", fmt::join(less, "; "));
  return text;
}

// What takes less than a hundredth of the steps is not worth a sentence.
std::string expected_operators_sentence(const Analysis& report,
                                        const ExpectedOperators& operators) {
  const RankResult& rank = rank_of(report, operators);
  const double matters = 0.01 * seconds(rank.budget.total.sum()).count();
  std::vector<std::string> parts;
  std::vector<std::string> faster;
  for (const ExpectedOperatorClass& c : operators.classes) {
    const bool product = c.kind == NameClass::matmul || c.kind == NameClass::attention;
    if (!product || c.measured <= matters || c.expected <= 0) continue;
    if (c.measured < least_of_products * c.expected)
      faster.push_back(name_of(name_class_names, c.kind));
    else
      parts.push_back(fmt::format("{} takes {}", name_of(name_class_names, c.kind),
                                  times_in_words(c.measured / c.expected)));
  }
  const ExpectedOperator& most = operators.operators.front();
  std::string largest;
  if (most.gap() > matters)
    largest = fmt::format("the largest excess is {} {} ({} for {})",
                          printable((*rank.strings)[most.row->name]),
                          shorten(shape_in_words((*rank.strings)[most.row->dims]), 60),
                          format_seconds(most.measured), format_seconds(most.expected));
  if (!faster.empty())
    largest += fmt::format("{}the machine's curves are too slow for the shapes of {}",
                           largest.empty() ? "" : "; ", fmt::join(faster, " and "));
  if (parts.empty() && largest.empty()) return {};
  std::string text = fmt::format("By the shapes of rank {} on {}, ", operators.rank,
                                 printable(report.expected->machine));
  if (!parts.empty()) text += fmt::format("{} what is expected", fmt::join(parts, " and "));
  if (!largest.empty()) text += (parts.empty() ? "" : "; ") + largest;
  return text + ".";
}

std::string expected_collectives_sentence(const std::vector<ExpectedCollective>& rows,
                                          std::string_view machine) {
  double expected = 0;
  double measured = 0;
  bool with_wait = false;
  for (const ExpectedCollective& c : rows) {
    expected += c.expected;
    measured += c.measured;
    with_wait = with_wait || c.with_wait;
  }
  if (expected <= 0) return {};
  if (measured < least_of_links * expected)
    return fmt::format(
        "Collectives take {} what the links of {} allow at least, which is impossible: the links "
        "or the placement of the ranks are not those of this job, or the recorded sizes are not "
        "those of one call. Nothing is said about them; --machine FILE describes other links.",
        times_in_words(measured / expected), printable(machine));
  std::string text =
      fmt::format("Collectives take {} what the links are expected to take{}",
                  times_in_words(measured / expected), with_wait ? ", waiting included" : "");
  const ExpectedCollective& most = rows.front();
  if (most.gap() > 0)
    text += fmt::format("; the largest excess is {} of {} in groups of {}, {}",
                        name_of(collective_kind_names, most.row->kind),
                        format_bytes(static_cast<double>(most.row->bytes->value)),
                        most.row->group_size.value_or(0), times_in_words(most.ratio()));
  return text + ".";
}

std::vector<std::string> expected_sentences(const Analysis& report) {
  std::vector<std::string> out;
  if (!report.expected) return out;
  const Expectation& e = *report.expected;
  if (e.step) out.push_back(expected_step_sentence(*e.step));
  if (!e.ranks.empty()) out.push_back(expected_operators_sentence(report, e.ranks.front()));
  if (!e.collectives.empty())
    out.push_back(expected_collectives_sentence(e.collectives, e.machine));
  std::erase_if(out, [](const std::string& s) { return s.empty(); });
  return out;
}

}  // namespace stepscope
