// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/expected_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "stepscope/report/sentences/expected_sentences.h"
#include "stepscope/report/sentences/names.h"
#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t most_expected_rows = 6;

std::string known_times(std::optional<double> ratio) {
  if (!ratio) return "-";
  return *ratio > largest_expected_ratio ? "> 1000 ×" : times_in_words(*ratio);
}

using Rows = std::vector<std::vector<std::string>>;

std::string step_table(const StepComparison& step, std::size_t width) {
  Rows rows;
  const auto add = [&](const ExpectedLine& line) {
    rows.push_back({line.inner ? "· " + line.name : line.name, format_seconds(line.expected),
                    line.again > 0 ? format_seconds(line.again) : "-",
                    format_seconds(line.measured), known_times(line.ratio()),
                    format_signed_seconds(line.gap())});
  };
  for (const ExpectedLine& line : outer_lines(step)) {
    add(line);
    if (line.name != "pointwise") continue;
    for (const ClassComparison& c : step.classes)
      if (is_pointwise(c.kind))
        add({std::string(words_of(c.kind)), c.expected, c.measured, c.recompute, true});
  }
  add({"the step", step.expected, step.measured});
  const Message head = msg::expected_heading(printable(step.model), plan_in_words(step.plan));
  return wrapped(say(head), width) +
         text_table(
             {{"class", false}, {"expected"}, {"recomputed"}, {"measured"}, {"ratio"}, {"gap"}},
             rows, width);
}

std::string operators_table(const Analysis& report, const ExpectedOperators& operators,
                            std::size_t width) {
  const StringPool& strings = *rank_of(report, operators).strings;
  Rows rows;
  for (const ExpectedOperatorClass& c : operators.classes)
    rows.push_back({"all " + name_of(name_class_names, c.kind), "",
                    c.expected > 0 ? format_seconds(c.expected) : "-",
                    c.expected > 0 ? format_seconds(c.measured) : "-", known_times(c.ratio()),
                    c.expected > 0 ? format_signed_seconds(c.gap()) : "-",
                    c.unknown > 0 ? format_seconds(c.unknown) : "-"});
  for (std::size_t i = 0; i < std::min(most_expected_rows, operators.operators.size()); ++i) {
    const ExpectedOperator& o = operators.operators[i];
    if (o.gap() <= 0) break;
    rows.push_back({printable(strings[o.row->name]), shape_in_words(strings[o.row->dims]),
                    format_seconds(o.expected), format_seconds(o.measured), known_times(o.ratio()),
                    format_signed_seconds(o.gap()), "-"});
  }
  return fmt::format("Expected by shape beside measured, operators of rank {} on {}\n",
                     operators.rank, printable(report.expected->machine)) +
         text_table({{"operator", false, 40},
                     {"shape", false, 40},
                     {"expected"},
                     {"measured"},
                     {"ratio"},
                     {"gap"},
                     {"unknown"}},
                    rows, width);
}

std::string collectives_table(const std::vector<ExpectedCollective>& collectives,
                              std::size_t width) {
  Rows rows;
  for (const ExpectedCollective& c : collectives) {
    if (rows.size() == most_expected_rows) break;
    rows.push_back(
        {name_of(collective_kind_names, c.row->kind),
         c.row->dimension == Dimension::unknown ? "-" : name_of(dimension_names, c.row->dimension),
         c.row->group_size ? std::to_string(*c.row->group_size) : "-",
         format_bytes(static_cast<double>(c.row->bytes->value)), std::to_string(c.calls),
         format_seconds(c.expected), format_seconds(c.measured), times_in_words(c.ratio()),
         c.with_wait ? "with waiting" : "transfer"});
  }
  return "Expected by size beside measured, collectives\n" + text_table({{"collective", false},
                                                                         {"dim", false},
                                                                         {"n"},
                                                                         {"bytes"},
                                                                         {"calls"},
                                                                         {"expected"},
                                                                         {"measured"},
                                                                         {"ratio"},
                                                                         {"measured is", false}},
                                                                        rows, width);
}

std::string assumptions_text(const Expectation& e, std::size_t width) {
  constexpr std::size_t few = 2;
  const std::string machine = printable(e.machine);
  return e.assumptions.size() > few
             ? wrapped(msg::figures_of_most_machines(e.assumptions.size(), machine), width)
             : wrapped(say(msg::machine_does_not_say(machine, e.assumptions)), width);
}

}  // namespace

std::string expected_step_text(const Analysis& report, std::size_t width) {
  if (!report.expected || !report.expected->step) return {};
  const StepComparison& step = *report.expected->step;
  return wrapped(expected_step_sentence(step), width) + '\n' + step_table(step, width);
}

std::string expected_shapes_text(const Analysis& report, std::size_t width) {
  if (!report.expected) return {};
  const Expectation& e = *report.expected;
  std::vector<std::string> parts;
  if (!e.ranks.empty()) {
    const Message sentence = expected_operators_sentence(report, e.ranks.front());
    parts.push_back(operators_table(report, e.ranks.front(), width) +
                    (sentence.empty() ? "" : wrapped(sentence, width)));
  }
  if (!e.collectives.empty())
    parts.push_back(collectives_table(e.collectives, width) +
                    wrapped(expected_collectives_sentence(e.collectives, e.machine), width));
  if (!e.assumptions.empty()) parts.push_back(assumptions_text(e, width));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace stepscope
