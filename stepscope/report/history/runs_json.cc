// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/history/runs_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <string>

#include "stepscope/report/history/runs_text.h"
#include "stepscope/report/json/compare_json.h"
#include "stepscope/say/say.h"

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

}  // namespace stepscope
