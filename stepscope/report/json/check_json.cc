// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/check_json.h"

#include <cmath>
#include <optional>

#include "stepscope/report/json/compare_json.h"
#include "stepscope/report/json/log_json.h"
#include "stepscope/report/sentences/run_sentences.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

// Time of a row; whole nanoseconds.
Json whole_ns(double ns) { return std::llround(ns); }

// A share of one in steps of 1e-5: a map has many.
Json rounded_share(const std::optional<double>& share) {
  constexpr double step = 1e5;
  return share ? Json(std::round(*share * step) / step) : Json(nullptr);
}

Json times_row(const StepStatistics& s) {
  return {{"steps", s.steps},
          {"min_ns", whole_ns(s.min_ns)},
          {"median_ns", whole_ns(s.median_ns)},
          {"p95_ns", whole_ns(s.p95_ns)},
          {"max_ns", whole_ns(s.max_ns)},
          {"outliers", s.outliers}};
}

Json step_times_tree(const StepTimesByRank& t) {
  Json ranks = Json::array();
  for (const RankStatistics& r : t.ranks) {
    Json row = {{"rank", r.rank}};
    row.update(times_row(r.times));
    row["deviation"] = rounded_share(r.deviation);
    ranks.push_back(std::move(row));
  }
  Json columns = Json::array();
  for (const StepColumn& c : t.columns)
    columns.push_back({{"first", c.first},
                       {"last", c.last},
                       {"min_ns", whole_ns(c.min_ns)},
                       {"median_ns", whole_ns(c.median_ns)},
                       {"max_ns", whole_ns(c.max_ns)}});
  Json map = Json::array();
  for (const DeviationRow& r : t.map) {
    Json cells = Json::array();
    for (const auto& cell : r.cells) cells.push_back(rounded_share(cell));
    map.push_back({{"first_rank", r.first_rank},
                   {"last_rank", r.last_rank},
                   {"deviations", std::move(cells)}});
  }
  return {{"steps", t.steps},
          {"warm_up", t.warm_up},
          {"counted_from", value(t.counted_from)},
          {"job", t.job ? times_row(*t.job) : Json(nullptr)},
          {"ranks", std::move(ranks)},
          {"columns", std::move(columns)},
          {"map", std::move(map)}};
}

Json checklists_tree(const std::vector<Checklist>& lists) {
  if (lists.empty()) return nullptr;
  Json out = Json::array();
  for (const Checklist& list : lists) {
    Json lines = Json::array();
    for (const ChecklistLine& l : list.lines)
      lines.push_back({{"name", l.name},
                       {"result", name_of(checklist_result_names, l.result)},
                       {"evidence", say(l.evidence)}});
    out.push_back({{"name", list.name}, {"title", say(list.title)}, {"lines", std::move(lines)}});
  }
  return out;
}

}  // namespace

Json check_tree(const CheckResult& r) {
  Json checks = Json::array();
  for (const CheckLine& l : r.lines)
    checks.push_back({{"name", l.name},
                      {"status", name_of(check_status_names, l.status)},
                      {"value", real(l.value)},
                      {"sentence", say(l.sentence)}});
  return {{"schema", "stepscope.check/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(check_sentence(r.lines))}}},
          {"input", r.input},
          {"kind", name_of(checked_kind_names, r.kind)},
          {"steps", arm_tree(r.input, r.facts.arm)},
          {"step_times", step_times_tree(r.times)},
          {"log", !r.log ? Json(nullptr) : log_tree(*r.log)},
          {"checks", std::move(checks)},
          {"checklists", checklists_tree(r.checklists)},
          {"record_next", say_all(r.record_next)},
          {"warnings", say_all(r.warnings)}};
}

}  // namespace stepscope
