// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/runs/runs_views.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/compare/compare_views.h"

namespace stepscope {

namespace {

// "2026-11-27T02:32:11.123456789Z".
std::string rfc3339(std::int64_t unix_ns) {
  constexpr std::int64_t second = 1'000'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z",
                     fmt::gmtime(static_cast<std::time_t>(unix_ns / second)), unix_ns % second);
}

Json beside_tree(const std::optional<RatioTest>& test) {
  if (!test) return nullptr;
  return {{"verdict", name_of(test->verdict)},
          {"ratio", test->ratio},
          {"interval", test->interval ? Json::array({test->interval->first, test->interval->second})
                                      : Json(nullptr)},
          {"p", real(test->p)}};
}

Json run_tree(const RunRow& row) {
  const PastRun& run = row.run;
  Json findings = Json::array();
  for (const PastFinding& f : run.findings)
    findings.push_back({{"key", f.key}, {"what", f.what}, {"gain_ns", value(f.gain)}});
  return {{"name", run.name},
          {"recorded", rfc3339(run.recorded_unix_ns)},
          {"commit", text_or_null(run.commit)},
          {"tag", text_or_null(run.tag)},
          {"version", run.version},
          {"source", run.steps.source},
          {"device", text_or_null(run.device)},
          {"ranks", run.ranks == 0 ? Json(nullptr) : Json(run.ranks)},
          {"added", row.added},
          {"baseline", row.baseline},
          {"steps", run.steps.wall_ns.size()},
          {"median_ns", row.median_ns},
          {"beside", beside_tree(row.beside)},
          {"mfu", real(run.mfu)},
          {"cause", text_or_null(run.cause)},
          {"sentence", text_or_null(run.sentence)},
          {"findings", std::move(findings)},
          {"digests", run.digests},
          {"digest_bytes", run.digest_bytes}};
}

}  // namespace

Json runs_tree(const RunsResult& r) {
  Json rows = Json::array();
  for (const RunRow& row : r.rows) rows.push_back(run_tree(row));
  Json changes = Json::array();
  for (const ChangePoint& c : r.changes)
    changes.push_back({{"from", r.rows[c.at].run.name},
                       {"before_ns", c.before},
                       {"after_ns", c.after},
                       {"p", c.p}});
  return {{"schema", "stepscope.runs/1"},
          {"version", r.version},
          {"answer", {{"sentence", say_stopped(runs_sentence(r))}}},
          {"history", r.history},
          {"runs", std::move(rows)},
          {"changes", std::move(changes)},
          {"newest", r.newest ? compare_tree(*r.newest) : Json(nullptr)},
          {"warnings", say_all(r.warnings)}};
}

Json restored_tree(const RestoredRun& r) {
  return {{"schema", "stepscope.restored/1"},
          {"version", r.version},
          {"history", r.history},
          {"run", r.run},
          {"output", r.output},
          {"digests", r.digests}};
}

namespace {

std::string instant(std::int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M}",
                     fmt::gmtime(static_cast<std::time_t>(unix_ns / 1'000'000'000)));
}

std::string short_commit(const std::string& commit) { return printable(commit.substr(0, 8)); }

std::string change_of(const RunRow& row) {
  if (row.baseline) return "baseline";
  if (!row.beside) return "-";
  return format_signed_percent(row.beside->ratio - 1);
}

std::string verdict_of(const RunRow& row) {
  if (!row.beside) return "-";
  return row.beside->verdict == Verdict::not_enough_data
             ? "few steps"
             : std::string(name_of(row.beside->verdict));
}

std::string changes_text(const RunsResult& r, std::size_t width) {
  std::string out;
  for (const ChangePoint& c : r.changes)
    out += wrapped(msg::steps_change_from(printable(r.rows[c.at].run.name), Nanoseconds(c.after),
                                          Nanoseconds(c.before),
                                          format_signed_percent(c.after / c.before - 1)),
                   width);
  return out.empty() ? out : '\n' + out;
}

}  // namespace

Message runs_sentence(const RunsResult& r) {
  const RunRow& newest = r.rows.back();
  const std::string name = printable(newest.run.name);
  if (r.newest)
    return msg::newest_run_beside(name, printable(r.newest->label_a), compare_sentence(*r.newest));
  return newest.baseline ? msg::newest_of_baseline(name)
                         : msg::only_run(name, Nanoseconds(newest.median_ns));
}

std::string runs_text(const RunsResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = say(msg::runs_kept(r.rows.size(), printable(r.history),
                                       std::ranges::count(r.rows, true, &RunRow::added))) +
                    "\n\n";
  out += wrapped(runs_sentence(r), width) + changes_text(r, width) + '\n';
  std::vector<std::vector<std::string>> rows;
  for (const RunRow& row : r.rows)
    rows.push_back({printable(row.run.name), instant(row.run.recorded_unix_ns),
                    short_commit(row.run.commit), printable(row.run.tag),
                    std::to_string(row.run.steps.wall_ns.size()), format_time(row.median_ns),
                    change_of(row), verdict_of(row),
                    row.run.mfu ? format_percent(*row.run.mfu) : "-", row.run.cause});
  out += text_table({{"run", false},
                     {"recorded (UTC)", false},
                     {"commit", false},
                     {"tag", false},
                     {"steps"},
                     {"median"},
                     {"change"},
                     {"verdict", false},
                     {"MFU"},
                     {"cause", false}},
                    std::move(rows), width);
  Messages notes = r.warnings;
  if (r.newest) append(notes, r.newest->warnings);
  return out + notes_text(notes, width);
}

std::string restored_text(const RestoredRun& r) {
  return say(msg::digests_restored(r.digests, printable(r.run), printable(r.output))) + '\n';
}

}  // namespace stepscope
