// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/expected_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/say/vocabulary.h"
#include "stepscope/verbs/sections/plan_words.h"

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
  return *find_rank(report.job.ranks, operators.rank);
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
  const double matters = 0.01 * seconds(accounted_budget(rank).sum()).count();
  Messages parts;
  std::vector<std::string> faster;
  for (const ExpectedOperatorClass& c : operators.classes) {
    const bool product = c.kind == NameClass::matmul || c.kind == NameClass::attention;
    if (c.expected <= 0) continue;
    const std::string name = name_of(name_class_names, c.kind);
    if (product && c.measured > matters && c.measured < least_of_products * c.expected)
      faster.push_back(name);
    else if (parts.size() < 3 && (c.gap() > matters || (product && c.measured > matters)))
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

namespace {

double nanoseconds(double seconds) { return seconds * 1e9; }

Json pair_json(double expected, double measured) {
  return {{"expected_ns", nanoseconds(expected)},
          {"measured_ns", nanoseconds(measured)},
          {"ratio", expected > 0 ? Json(measured / expected) : Json(nullptr)},
          {"gap_ns", nanoseconds(measured - expected)}};
}

Json step_json(const std::optional<StepComparison>& step) {
  if (!step) return nullptr;
  Json classes = Json::array();
  for (const ClassComparison& c : step->classes)
    classes.push_back({{"class", name_of(step_class_names, c.kind)},
                       {"expected_ns", nanoseconds(c.expected)},
                       {"recompute_ns", nanoseconds(c.recompute)},
                       {"measured_ns", nanoseconds(c.measured)},
                       {"ratio", real(c.ratio())},
                       {"gap_ns", nanoseconds(c.gap())}});
  Json ranks = Json::array();
  for (const RankSeconds& r : step->ranks) {
    Json measured = Json::object();
    for (std::size_t c = 0; c < step_class_count; ++c)
      measured[std::string(step_class_names[c])] = nanoseconds(r.measured[c]);
    ranks.push_back({{"rank", r.rank}, {"measured_ns", std::move(measured)}});
  }
  const ExpectedLine together = pointwise_line(*step);
  return {{"model", step->model},
          {"plan", Json::parse(plan_json(step->plan))},
          {"plan_words", say(plan_in_words(step->plan))},
          {"expected_ns", nanoseconds(step->expected)},
          {"measured_ns", nanoseconds(step->measured)},
          {"pointwise", pair_json(together.expected, together.measured)},
          {"classes", std::move(classes)},
          {"ranks", std::move(ranks)}};
}

Json operators_json(const Analysis& report, const ExpectedOperators& operators) {
  const StringPool& strings = *rank_of(report, operators).strings;
  Json classes = Json::array();
  for (const ExpectedOperatorClass& c : operators.classes)
    classes.push_back({{"class", name_of(name_class_names, c.kind)},
                       {"expected_ns", nanoseconds(c.expected)},
                       {"measured_ns", nanoseconds(c.measured)},
                       {"ratio", real(c.ratio())},
                       {"unknown_ns", nanoseconds(c.unknown)}});
  Json rows = Json::array();
  for (const ExpectedOperator& o : operators.operators)
    rows.push_back({{"name", strings[o.row->name]},
                    {"class", name_of(name_class_names, o.row->kind)},
                    {"shape", strings[o.row->dims]},
                    {"dtype", name_of(precision_names, o.row->precision)},
                    {"calls", o.row->device_calls},
                    {"expected_ns", nanoseconds(o.expected)},
                    {"measured_ns", nanoseconds(o.measured)},
                    {"ratio", o.ratio()}});
  return {
      {"rank", operators.rank}, {"classes", std::move(classes)}, {"operators", std::move(rows)}};
}

Json collectives_json(const std::vector<ExpectedCollective>& collectives) {
  Json out = Json::array();
  for (const ExpectedCollective& c : collectives)
    out.push_back({{"name", name_of(collective_kind_names, c.row->kind)},
                   {"dimension", name_of(dimension_names, c.row->dimension)},
                   {"group", c.row->group},
                   {"group_size", value(c.row->group_size)},
                   {"bytes", value(c.row->bytes)},
                   {"calls", c.calls},
                   {"expected_ns", nanoseconds(c.expected)},
                   {"measured_ns", nanoseconds(c.measured)},
                   {"ratio", c.ratio()},
                   {"with_wait", c.with_wait}});
  return out;
}

}  // namespace

Json expected_json(const Analysis& report) {
  if (!report.expected) return nullptr;
  const Expectation& e = *report.expected;
  Json ranks = Json::array();
  for (const ExpectedOperators& r : e.ranks) ranks.push_back(operators_json(report, r));
  Json sentences = Json::array();
  for (const Message& m : expected_sentences(report)) sentences.push_back(say_stopped(m));
  return {{"machine", e.machine},
          {"sentences", std::move(sentences)},
          {"step", step_json(e.step)},
          {"ranks", std::move(ranks)},
          {"collectives", collectives_json(e.collectives)},
          {"assumptions", e.assumptions}};
}

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
  return fmt::format("Expected by shape and measured, operators of rank {} on {}\n", operators.rank,
                     printable(report.expected->machine)) +
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
  return "Expected by size and measured, collectives\n" + text_table({{"collective", false},
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
