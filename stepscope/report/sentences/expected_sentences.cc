// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/expected_sentences.h"

#include <fmt/format.h>

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

Message excess(const ExpectedLine& line) {
  const Seconds measured{line.measured};
  const Seconds expected{line.expected};
  if (line.expected <= 0) return msg::measured_for_nothing(line.name, measured);
  const double ratio = line.measured / line.expected;
  return ratio > largest_expected_ratio
             ? msg::measured_for(line.name, measured, expected)
             : msg::times_measured_for(line.name, Digits{ratio}, measured, expected);
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

Message expected_step_sentence(const StepComparison& step) {
  const std::vector<ExpectedLine> lines = outer_lines(step);
  Messages largest;
  for (const ExpectedLine& line : lines)
    if (largest.size() < 3 && line.gap() > 0.01 * step.measured) largest.push_back(excess(line));
  Messages less;
  for (auto line = lines.rbegin(); line != lines.rend() && less.size() < 2; ++line)
    if (line->gap() < -0.01 * step.measured) less.push_back(excess(*line));
  return joined(
      msg::sentences,
      {msg::step_beside_model(Digits{step.measured / step.expected}, printable(step.machine),
                              Seconds{step.measured}, Seconds{step.expected}),
       largest.empty() ? Message() : msg::largest_excess(std::move(largest)),
       less.empty() ? Message() : msg::less_than_expected(std::move(less))});
}

// What takes less than a hundredth of the steps is not worth a sentence.
Message expected_operators_sentence(const Analysis& report, const ExpectedOperators& operators) {
  const RankResult& rank = rank_of(report, operators);
  const double matters = 0.01 * seconds(rank.budget.total.sum()).count();
  Messages parts;
  std::vector<std::string> faster;
  for (const ExpectedOperatorClass& c : operators.classes) {
    const bool product = c.kind == NameClass::matmul || c.kind == NameClass::attention;
    if (!product || c.measured <= matters || c.expected <= 0) continue;
    const std::string name = name_of(name_class_names, c.kind);
    if (c.measured < least_of_products * c.expected)
      faster.push_back(name);
    else
      parts.push_back(msg::takes_times(name, Digits{c.measured / c.expected}));
  }
  const ExpectedOperator& most = operators.operators.front();
  Messages largest;
  if (most.gap() > matters)
    largest.push_back(
        msg::largest_operator(printable((*rank.strings)[most.row->name]),
                              shorten(shape_in_words((*rank.strings)[most.row->dims]), 60),
                              Seconds{most.measured}, Seconds{most.expected}));
  if (!faster.empty()) largest.push_back(msg::curves_too_slow(faster));
  if (parts.empty() && largest.empty()) return {};
  return msg::operators_beside_model(operators.rank, printable(report.expected->machine),
                                     std::move(parts), std::move(largest));
}

Message expected_collectives_sentence(const std::vector<ExpectedCollective>& rows,
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
  const Digits times{measured / expected};
  if (measured < least_of_links * expected)
    return msg::faster_than_links(times, printable(machine));
  const ExpectedCollective& most = rows.front();
  return msg::collectives_beside_model(
      times, with_wait,
      most.gap() > 0 ? msg::largest_collective(name_of(collective_kind_names, most.row->kind),
                                               *most.row->bytes, most.row->group_size.value_or(0),
                                               Digits{most.ratio()})
                     : Message());
}

Messages expected_sentences(const Analysis& report) {
  Messages out;
  if (!report.expected) return out;
  const Expectation& e = *report.expected;
  if (e.step) out.push_back(expected_step_sentence(*e.step));
  if (!e.ranks.empty()) out.push_back(expected_operators_sentence(report, e.ranks.front()));
  if (!e.collectives.empty())
    out.push_back(expected_collectives_sentence(e.collectives, e.machine));
  std::erase_if(out, &Message::empty);
  return out;
}

}  // namespace stepscope
