// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/expected_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/report/predict_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_expected_rows = 6;

double nanoseconds(double seconds) { return seconds * 1e9; }
std::string times(double ratio) { return fmt::format("{} ×", format_digits(ratio)); }
// Of next to nothing that was expected the ratio says nothing more.
constexpr double largest_ratio = 1000;
std::string known_times(std::optional<double> ratio) {
  if (!ratio) return "-";
  return *ratio > largest_ratio ? "> 1000 ×" : times(*ratio);
}

// A line of the step's table: a class, or all pointwise ones together.
struct Line {
  std::string name;
  double expected = 0;
  double measured = 0;
  double again = 0;    // of expected: recomputed
  bool inner = false;  // one of the pointwise classes

  [[nodiscard]] double gap() const { return measured - expected; }
  [[nodiscard]] std::optional<double> ratio() const {
    return expected > 0 ? std::optional(measured / expected) : std::nullopt;
  }
};

Line pointwise(const StepComparison& step) {
  Line sum{.name = "pointwise"};
  for (const ClassComparison& c : step.classes) {
    if (!is_pointwise(c.kind)) continue;
    sum.expected += c.expected;
    sum.measured += c.measured;
    sum.again += c.recompute;
  }
  return sum;
}

// Largest gap first.
std::vector<Line> outer_lines(const StepComparison& step) {
  std::vector<Line> lines;
  for (const ClassComparison& c : step.classes)
    if (!is_pointwise(c.kind))
      lines.push_back({std::string(words_of(c.kind)), c.expected, c.measured, c.recompute});
  const Line together = pointwise(step);
  if (together.expected > 0 || together.measured > 0) lines.push_back(together);
  std::ranges::stable_sort(lines, std::greater<>(), &Line::gap);
  return lines;
}

std::string excess(const Line& line) {
  if (line.expected <= 0)
    return fmt::format("{} {}, of which the model expects nothing", line.name,
                       format_seconds(line.measured));
  const double ratio = line.measured / line.expected;
  return ratio > largest_ratio
             ? fmt::format("{} {} for {}", line.name, format_seconds(line.measured),
                           format_seconds(line.expected))
             : fmt::format("{} {} ({} for {})", line.name, times(ratio),
                           format_seconds(line.measured), format_seconds(line.expected));
}

std::string step_sentence(const StepComparison& step) {
  std::string text = fmt::format("The step takes {} what the model expects on {} ({} for {}).",
                                 times(step.measured / step.expected), printable(step.machine),
                                 format_seconds(step.measured), format_seconds(step.expected));
  const std::vector<Line> lines = outer_lines(step);
  std::vector<std::string> largest;
  for (const Line& line : lines)
    if (largest.size() < 3 && line.gap() > 0.01 * step.measured) largest.push_back(excess(line));
  if (!largest.empty()) text += fmt::format(" Largest excess: {}.", fmt::join(largest, "; "));
  std::vector<std::string> less;
  for (auto line = lines.rbegin(); line != lines.rend() && less.size() < 2; ++line)
    if (line->gap() < -0.01 * step.measured) less.push_back(excess(*line));
  if (!less.empty()) text += fmt::format(" Less than expected: {}.", fmt::join(less, "; "));
  return text;
}

std::string shape_of(const StringPool& strings, StringId dims) {
  std::string text;
  for (const char c : strings[dims])
    if (c != ' ' && c != '\n') text += c;
  for (std::size_t p = text.find(",[]"); p != std::string::npos; p = text.find(",[]"))
    text.erase(p, 3);
  return printable(text);
}

const RankResult& rank_of(const Analysis& report, int rank) {
  return *std::ranges::find(report.job.ranks, rank, &RankResult::rank);
}

// What takes less than a hundredth of the steps is not worth a sentence.
std::string operators_sentence(const Analysis& report, const ExpectedOperators& operators) {
  const RankResult& rank = rank_of(report, operators.rank);
  const double matters = 0.01 * seconds(rank.budget.total.sum()).count();
  std::vector<std::string> parts;
  for (const ExpectedOperatorClass& c : operators.classes)
    if ((c.kind == NameClass::matmul || c.kind == NameClass::attention) && c.measured > matters &&
        c.expected > 0)
      parts.push_back(fmt::format("{} takes {}", name_of(name_class_names, c.kind),
                                  times(c.measured / c.expected)));
  const ExpectedOperator& most = operators.operators.front();
  std::string largest;
  if (most.gap() > matters)
    largest = fmt::format("the largest excess is {} {} ({} for {})",
                          printable((*rank.strings)[most.row->name]),
                          shorten(shape_of(*rank.strings, most.row->dims), 60),
                          format_seconds(most.measured), format_seconds(most.expected));
  if (parts.empty() && largest.empty()) return {};
  std::string text = fmt::format("By the shapes of rank {} on {}, ", operators.rank,
                                 printable(report.expected->machine));
  if (!parts.empty()) text += fmt::format("{} what is expected", fmt::join(parts, " and "));
  if (!largest.empty()) text += (parts.empty() ? "" : "; ") + largest;
  return text + ".";
}

std::string collectives_sentence(const std::vector<ExpectedCollective>& rows) {
  double expected = 0;
  double measured = 0;
  bool with_wait = false;
  for (const ExpectedCollective& c : rows) {
    expected += c.expected;
    measured += c.measured;
    with_wait = with_wait || c.with_wait;
  }
  if (expected <= 0) return {};
  std::string text = fmt::format("Collectives take {} what the links are expected to take{}",
                                 times(measured / expected), with_wait ? ", waiting included" : "");
  const ExpectedCollective& most = rows.front();
  if (most.gap() > 0)
    text += fmt::format("; the largest excess is {} of {} in groups of {}, {}",
                        name_of(collective_kind_names, most.row->kind),
                        format_bytes(static_cast<double>(most.row->bytes->value)),
                        most.row->group_size.value_or(0), times(most.ratio()));
  return text + ".";
}

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
  const Line together = pointwise(*step);
  return {{"model", step->model},
          {"plan", Json::parse(plan_json(step->plan))},
          {"plan_words", plan_in_words(step->plan)},
          {"expected_ns", nanoseconds(step->expected)},
          {"measured_ns", nanoseconds(step->measured)},
          {"pointwise", pair_json(together.expected, together.measured)},
          {"classes", std::move(classes)},
          {"ranks", std::move(ranks)}};
}

Json operators_json(const Analysis& report, const ExpectedOperators& operators) {
  const StringPool& strings = *rank_of(report, operators.rank).strings;
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

using Rows = std::vector<std::vector<std::string>>;

// "+12.1 ms"
std::string signed_time(double seconds) {
  return fmt::format("{}{}", seconds < 0 ? "−" : "+", format_seconds(std::abs(seconds)));
}

std::string step_table(const StepComparison& step, std::size_t width) {
  Rows rows;
  const auto add = [&](const Line& line) {
    rows.push_back({line.inner ? "· " + line.name : line.name, format_seconds(line.expected),
                    line.again > 0 ? format_seconds(line.again) : "-",
                    format_seconds(line.measured), known_times(line.ratio()),
                    signed_time(line.gap())});
  };
  for (const Line& line : outer_lines(step)) {
    add(line);
    if (line.name != "pointwise") continue;
    for (const ClassComparison& c : step.classes)
      if (is_pointwise(c.kind))
        add({std::string(words_of(c.kind)), c.expected, c.measured, c.recompute, true});
  }
  add({"the step", step.expected, step.measured});
  const std::string head = fmt::format("Expected beside measured, a step of {} as {}",
                                       printable(step.model), plan_in_words(step.plan));
  return wrapped(head, width) +
         text_table(
             {{"class", false}, {"expected"}, {"recomputed"}, {"measured"}, {"ratio"}, {"gap"}},
             rows, width);
}

std::string operators_table(const Analysis& report, const ExpectedOperators& operators,
                            std::size_t width) {
  const StringPool& strings = *rank_of(report, operators.rank).strings;
  Rows rows;
  for (const ExpectedOperatorClass& c : operators.classes)
    rows.push_back({"all " + name_of(name_class_names, c.kind), "",
                    c.expected > 0 ? format_seconds(c.expected) : "-",
                    c.expected > 0 ? format_seconds(c.measured) : "-", known_times(c.ratio()),
                    c.expected > 0 ? signed_time(c.gap()) : "-",
                    c.unknown > 0 ? format_seconds(c.unknown) : "-"});
  for (std::size_t i = 0; i < std::min(most_expected_rows, operators.operators.size()); ++i) {
    const ExpectedOperator& o = operators.operators[i];
    if (o.gap() <= 0) break;
    rows.push_back({printable(strings[o.row->name]), shape_of(strings, o.row->dims),
                    format_seconds(o.expected), format_seconds(o.measured), known_times(o.ratio()),
                    signed_time(o.gap()), "-"});
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
         format_seconds(c.expected), format_seconds(c.measured), times(c.ratio()),
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

}  // namespace

std::string_view words_of(StepClass c) {
  static constexpr std::array<std::string_view, step_class_count> words = {
      "matmul",
      "attention",
      "norm",
      "elementwise",
      "embedding",
      "loss",
      "optimizer",
      "tensor-parallel communication",
      "context-parallel communication",
      "expert-parallel communication",
      "communication between stages",
      "data-parallel communication",
      "communication of unknown groups",
      "pipeline bubble",
      "waiting for late ranks",
      "copies",
      "idle device"};
  return words[static_cast<std::size_t>(c)];
}

std::vector<std::string> expected_sentences(const Analysis& report) {
  std::vector<std::string> out;
  if (!report.expected) return out;
  const Expectation& e = *report.expected;
  if (e.step) out.push_back(step_sentence(*e.step));
  if (!e.ranks.empty()) out.push_back(operators_sentence(report, e.ranks.front()));
  if (!e.collectives.empty()) out.push_back(collectives_sentence(e.collectives));
  std::erase_if(out, [](const std::string& s) { return s.empty(); });
  return out;
}

Json expected_json(const Analysis& report) {
  if (!report.expected) return nullptr;
  const Expectation& e = *report.expected;
  Json ranks = Json::array();
  for (const ExpectedOperators& r : e.ranks) ranks.push_back(operators_json(report, r));
  return {{"machine", e.machine},
          {"sentences", expected_sentences(report)},
          {"step", step_json(e.step)},
          {"ranks", std::move(ranks)},
          {"collectives", collectives_json(e.collectives)},
          {"assumptions", e.assumptions}};
}

namespace {

std::string assumptions_text(const Expectation& e) {
  constexpr std::size_t few = 2;
  if (e.assumptions.size() <= few)
    return fmt::format("{} does not say: {}", printable(e.machine), fmt::join(e.assumptions, "; "));
  return fmt::format(
      "{} figures that {} does not say are those of most machines; the JSON has them "
      "(expected.assumptions).",
      e.assumptions.size(), printable(e.machine));
}

}  // namespace

std::string expected_step_text(const Analysis& report, std::size_t width) {
  if (!report.expected || !report.expected->step) return {};
  const StepComparison& step = *report.expected->step;
  return wrapped(step_sentence(step), width) + '\n' + step_table(step, width);
}

std::string expected_shapes_text(const Analysis& report, std::size_t width) {
  if (!report.expected) return {};
  const Expectation& e = *report.expected;
  std::vector<std::string> parts;
  if (!e.ranks.empty()) {
    const std::string sentence = operators_sentence(report, e.ranks.front());
    parts.push_back(operators_table(report, e.ranks.front(), width) +
                    (sentence.empty() ? "" : wrapped(sentence, width)));
  }
  if (!e.collectives.empty())
    parts.push_back(collectives_table(e.collectives, width) +
                    wrapped(collectives_sentence(e.collectives), width));
  if (!e.assumptions.empty()) parts.push_back(wrapped(assumptions_text(e), width));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace stepscope
