// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/expected_json.h"

#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/report/sentences/expected_sentences.h"
#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/say/say.h"

namespace stepscope {
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

}  // namespace stepscope
