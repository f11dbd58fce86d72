// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/check_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/check/log_views.h"
#include "stepscope/verbs/compare/compare_views.h"

namespace stepscope {

std::string check_answer(const CheckResult& r) {
  std::string out;
  for (const Message& lead : r.lead) out += say_stopped(lead) + ' ';
  std::vector<std::string> names;
  std::size_t known = 0;
  for (const CheckLine& l : r.lines) {
    if (l.status == CheckStatus::look) names.push_back(spaced(l.name));
    if (l.status != CheckStatus::unknown) ++known;
  }
  return out + say_stopped(names.empty() ? msg::nothing_to_look_at(known, r.lines.size())
                                         : msg::worth_a_look(names, known, r.lines.size()));
}

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
          {"mean_ns", whole_ns(s.mean_ns)},
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

Json phases_tree(const std::optional<PhaseTimes>& phases) {
  if (!phases) return nullptr;
  Json rows = Json::array();
  for (const PhaseRow& row : phases->rows)
    rows.push_back({{"name", row.name},
                    {"kind", name_of(step_part_kind_names, row.kind)},
                    {"count", row.count},
                    {"mean_ns", row.mean_ns},
                    {"stdev_ns", real(row.stdev_ns)},
                    {"max_ns", row.max_ns},
                    {"share", row.share}});
  Json overlap = nullptr;
  if (const auto& o = phases->overlap)
    overlap = {{"computation_ns", o->computation_ns},
               {"communication_ns", o->communication_ns},
               {"efficiency", real(o->efficiency)},
               {"without_ns", o->computation_ns + o->communication_ns},
               {"perfect_ns", std::max(o->computation_ns, o->communication_ns)}};
  return {{"step_ns", phases->step_ns},
          {"summed", phases->summed},
          {"rows", std::move(rows)},
          {"overlap", std::move(overlap)}};
}

Json conventions_tree(const std::vector<ConventionMfu>& conventions) {
  Json out = Json::array();
  for (const ConventionMfu& m : conventions)
    out.push_back({{"name", m.model.convention},
                   {"model_flops_per_step", m.model.per_step.value},
                   {"mfu", m.mfu}});
  return out;
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
          {"answer", {{"sentence", check_answer(r)}}},
          {"input", r.input},
          {"kind", name_of(checked_kind_names, r.kind)},
          {"steps", arm_tree(r.input, r.facts.arm)},
          {"step_times", step_times_tree(r.times)},
          {"phases", phases_tree(r.phases)},
          {"mfu_convention", text_or_null(r.facts.mfu_convention)},
          {"mfu_conventions", conventions_tree(r.mfu_conventions)},
          {"log", !r.log ? Json(nullptr) : log_tree(*r.log)},
          {"checks", std::move(checks)},
          {"checklists", checklists_tree(r.checklists)},
          {"record_next", say_all(r.record_next)},
          {"warnings", say_all(r.warnings)}};
}

namespace {

constexpr std::size_t most_rank_rows = 16;

// All ranks, or if they are too many, the ranks that are furthest from the others.
std::vector<const RankStatistics*> ranks_to_show(const StepTimesByRank& t) {
  std::vector<const RankStatistics*> ranks;
  for (const RankStatistics& r : t.ranks) ranks.push_back(&r);
  if (ranks.size() <= most_rank_rows) return ranks;
  const auto distance = [](const RankStatistics* r) { return std::fabs(r->deviation.value_or(0)); };
  std::ranges::stable_sort(ranks, std::ranges::greater{}, distance);
  ranks.resize(most_rank_rows);
  std::ranges::sort(ranks, {}, &RankStatistics::rank);
  return ranks;
}

std::string deviation_text(double share) {
  if (share == 0) return "0 %";
  return std::fabs(share) < 5e-4 ? "< 0.1 %" : fmt::format("{:+.1f} %", 100 * share);
}

std::vector<std::string> times_row(std::string name, const StepStatistics& s,
                                   std::optional<double> deviation) {
  return {std::move(name),
          std::to_string(s.steps),
          format_time(s.min_ns),
          format_time(s.median_ns),
          format_time(s.mean_ns),
          format_time(s.p95_ns),
          format_time(s.max_ns),
          std::to_string(s.outliers),
          deviation ? deviation_text(*deviation) : "-"};
}

std::string step_times_table(const StepTimesByRank& t, bool changes, std::size_t width) {
  // A median over both sides of a change is a time that no step took.
  if (!t.job || (changes && t.ranks.empty())) return {};
  std::vector<std::vector<std::string>> rows;
  rows.push_back(times_row(t.ranks.empty() ? "all" : "job", *t.job, std::nullopt));
  const auto shown = ranks_to_show(t);
  for (const RankStatistics* r : shown)
    rows.push_back(times_row(fmt::format("rank {}", r->rank), r->times, r->deviation));
  std::string out = fmt::format(
      "\nStep times{}{}:\n", t.ranks.empty() ? "" : " by rank",
      t.warm_up > 0 ? fmt::format(" without {} of warm-up", counted(t.warm_up, "step")) : "");
  out += text_table({{"", false},
                     {"steps"},
                     {"min"},
                     {"median"},
                     {"mean"},
                     {"p95"},
                     {"max"},
                     {"outliers"},
                     {"against the median rank"}},
                    std::move(rows), width);
  if (shown.size() < t.ranks.size())
    out += fmt::format("  The {} of {} ranks that are furthest from the median rank.\n",
                       shown.size(), t.ranks.size());
  return out;
}

std::string phases_table(const PhaseTimes& phases, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const PhaseRow& row : phases.rows)
    rows.push_back({printable(row.name), std::to_string(row.count), format_time(row.mean_ns),
                    row.stdev_ns ? format_time(*row.stdev_ns) : "-", format_time(row.max_ns),
                    format_percent(row.share)});
  return "\nPhases:\n" + text_table({{"", false},
                                     {"steps"},
                                     {"mean a step"},
                                     {"stdev"},
                                     {"max"},
                                     {phases.summed ? "of their sum" : "of the step"}},
                                    std::move(rows), width);
}

std::string conventions_text(const std::vector<ConventionMfu>& conventions, std::size_t width) {
  if (conventions.size() < 2) return {};
  std::string out = "MFU by convention:";
  for (const ConventionMfu& m : conventions)
    out += fmt::format("{} {} {}", &m == conventions.data() ? "" : " ·", m.model.convention,
                       format_percent(m.mfu));
  return '\n' + wrapped(out, width);
}

// The evidence of long lines goes on below its begin.
std::string checklists_text(const std::vector<Checklist>& lists, std::size_t width) {
  constexpr std::size_t indent = 34;
  std::string out;
  for (const Checklist& list : lists) {
    out += fmt::format("\n{}:\n", say(list.title));
    for (const ChecklistLine& l : list.lines) {
      const std::string text =
          wrapped(printable(say(l.evidence)), std::max(indent + 40, width) - indent);
      out += fmt::format("  {:<5} {:<24}  ",
                         l.result == ChecklistResult::fine   ? "ok"
                         : l.result == ChecklistResult::look ? "look"
                                                             : "-",
                         spaced(std::string(l.name)));
      for (std::size_t i = 0; i < text.size(); ++i) {
        out += text[i];
        if (text[i] == '\n' && i + 1 < text.size()) out += std::string(indent, ' ');
      }
    }
  }
  return out;
}

}  // namespace

std::string check_text(const CheckResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(check_answer(r), width) + '\n';
  for (const CheckLine& l : r.lines) {
    const char* mark = l.status == CheckStatus::good   ? "ok"
                       : l.status == CheckStatus::look ? "look"
                                                       : "-";
    out += fmt::format("  {:<5} {:<15} {}\n", mark, spaced(l.name), printable(say(l.sentence)));
  }
  out += conventions_text(r.mfu_conventions, width);
  out += checklists_text(r.checklists, width);
  out += outlier_text(r.kind == CheckedKind::list ? "the list" : "these steps", r.facts.arm);
  out += step_times_table(r.times, r.log && !r.log->account.changes.empty(), width);
  if (r.phases) out += phases_table(*r.phases, width);
  if (r.log) out += log_text(*r.log, options);
  if (!r.record_next.empty()) out += "\nRecord next:\n";
  for (const Message& what : r.record_next) out += "  " + say(what) + '\n';
  return out + notes_text(r.warnings, width) + details_line(options);
}

}  // namespace stepscope
