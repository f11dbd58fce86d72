// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/unit_views.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/diagnose/unit_fetches.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {

namespace {

Json count_or_null(std::optional<std::uint32_t> count) {
  return count ? Json(*count) : Json(nullptr);
}

Json fetches_json(const JobResult& job) {
  Json out = Json::array();
  for (std::size_t r = 0; r < job.units.waits.size(); ++r) {
    const UnitMarks& marks = job.units.waits[r].marks;
    const Ns origin = origin_of(job, job.ranks[r].rank);
    for (const UnitFetch& f : job.units.waits[r].fetches) {
      const UnitUse& use = marks.uses[f.use];
      out.push_back({{"rank", job.ranks[r].rank},
                     {"step", job.ranks[r].steps[use.step].index},
                     {"unit", marks.units[use.unit]},
                     {"pass", name_of(unit_pass_names, use.pass)},
                     {"issued_ns", value(f.issued - origin)},
                     {"needed_ns", value(f.needed - origin)},
                     {"arrived_ns", value(f.arrived - origin)},
                     {"transfer_ns", value(f.transfer)},
                     {"late_ns", value(f.late())},
                     {"verdict", name_of(fetch_verdict_names, f.verdict)},
                     {"ahead", f.ahead},
                     {"hidden_by", count_or_null(f.distance)}});
    }
  }
  return out;
}

Json reduces_json(const JobResult& job) {
  Json out = Json::array();
  for (std::size_t r = 0; r < job.units.waits.size(); ++r) {
    const UnitMarks& marks = job.units.waits[r].marks;
    const Ns origin = origin_of(job, job.ranks[r].rank);
    for (const UnitReduce& u : job.units.waits[r].reduces) {
      const UnitReduction& reduction = marks.reductions[u.reduction];
      out.push_back({{"rank", job.ranks[r].rank},
                     {"step", job.ranks[r].steps[reduction.step].index},
                     {"unit", marks.units[reduction.unit]},
                     {"ready_ns", u.ready ? value(*u.ready - origin) : Json(nullptr)},
                     {"launched_ns", value(u.launched - origin)},
                     {"done_ns", value(u.done - origin)},
                     {"exposed_ns", value(u.exposed)}});
    }
  }
  return out;
}

}  // namespace

Json unit_waits_json(const JobResult& job) {
  const UnitSource source = unit_source(job.units);
  if (source == UnitSource::none) return nullptr;
  Json units = Json::array();
  for (const UnitRow& u : job.units.rows)
    units.push_back({{"unit", u.unit},
                     {"pass", name_of(unit_pass_names, u.pass)},
                     {"fetches", u.fetches()},
                     {"hits", u.hits},
                     {"late", u.late},
                     {"misses", u.misses},
                     {"late_ns", value(u.late_time)},
                     {"transfer_ns", value(u.transfer)},
                     {"ahead", u.ahead},
                     {"hidden_by", count_or_null(u.distance)}});
  Json reduced = Json::array();
  for (const UnitReduceRow& u : job.units.reduces)
    reduced.push_back({{"unit", u.unit},
                       {"count", u.count},
                       {"exposed_ns", value(u.exposed)},
                       {"lag_ns", value(u.lag)}});
  return {
      {"source", name_of(unit_source_names, source)},
      {"sentence", job.units.rows.empty() ? Json(nullptr) : Json(say(fetches_in_words(job.units)))},
      {"units", std::move(units)},
      {"reductions", std::move(reduced)},
      {"fetches", fetches_json(job)},
      {"reduces", reduces_json(job)}};
}

namespace {

constexpr std::size_t most_unit_rows = 8;

std::string distance_text(const UnitRow& row) {
  if (!row.distance) return "none";
  return *row.distance == 0 ? "-" : std::to_string(*row.distance);
}

}  // namespace

std::string unit_waits_text(const JobUnits& units, std::size_t width) {
  if (units.rows.empty()) return {};
  std::string out = wrapped(
      msg::units_fetched(name_of(unit_source_names, unit_source(units)), fetches_in_words(units)),
      width);
  std::vector<std::vector<std::string>> rows;
  std::size_t waited = 0;
  for (const UnitRow& u : units.rows) {
    if (u.late + u.misses == 0) continue;
    if (++waited > most_unit_rows) continue;
    rows.push_back({printable(u.unit), name_of(unit_pass_names, u.pass), std::to_string(u.hits),
                    std::to_string(u.late), std::to_string(u.misses), format_time(u.late_time),
                    format_time(u.transfer), std::to_string(u.ahead), distance_text(u)});
  }
  if (rows.empty()) return out;
  out += text_table({{.title = "unit", .right = false, .longest = 40},
                     {.title = "pass", .right = false},
                     {.title = "hit"},
                     {.title = "late"},
                     {.title = "miss"},
                     {.title = "late a step"},
                     {.title = "transfer"},
                     {.title = "ahead"},
                     {.title = "hidden by"}},
                    std::move(rows), width);
  if (waited > most_unit_rows) out += fmt::format("  … and {} more\n", waited - most_unit_rows);
  Ns exposed{};
  for (const UnitReduceRow& u : units.reduces) exposed += u.exposed;
  if (exposed > Ns{0})
    out += wrapped(msg::reducing_exposed(exposed, printable(units.reduces.front().unit),
                                         units.reduces.front().exposed),
                   width);
  return out;
}

}  // namespace stepscope
