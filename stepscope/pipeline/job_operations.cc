// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/job_operations.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/diagnose/straggler_job_verdict.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/read/job_table/job_table.h"

namespace stepscope {
namespace {

// Rows of the steps that --steps asks for.
void choose_steps(const TracesRequest& traces, JobOperations& t) {
  if (!traces.first_step && !traces.last_step) return;
  std::size_t kept = 0;
  const auto move_row = [&](std::size_t r) {
    t.dp_rank[kept] = t.dp_rank[r];
    t.stage[kept] = t.stage[r];
    t.rank[kept] = t.rank[r];
    t.step[kept] = t.step[r];
    t.op[kept] = t.op[r];
    t.start[kept] = t.start[r];
    t.duration[kept] = t.duration[r];
    t.seq_id[kept] = t.seq_id[r];
    t.mc[kept] = t.mc[r];
    t.mb_id[kept] = t.mb_id[r];
    t.gmc[kept] = t.gmc[r];
    ++kept;
  };
  for (std::size_t r = 0; r < t.size(); ++r)
    if (t.step[r] >= traces.first_step.value_or(t.step[r]) &&
        t.step[r] <= traces.last_step.value_or(t.step[r]))
      move_row(r);
  const auto cut = [&](auto&... column) { (column.resize(kept), ...); };
  cut(t.dp_rank, t.stage, t.rank, t.step, t.op, t.start, t.duration, t.seq_id, t.mc, t.mb_id,
      t.gmc);
}

InputRow input_row(const JobTable& table) {
  InputRow row;
  row.path = table.path;
  row.format = table.format;
  row.file_bytes = table.file_bytes;
  row.text_bytes = table.operations.text_bytes;
  row.events = table.operations.notes.events;
  row.truncated = table.operations.notes.truncated;
  row.notes = {table.operations.notes.counts.begin(), table.operations.notes.counts.end()};
  return row;
}

// "12 rows are not used: not_a_number; the first at byte 4711".
std::vector<std::string> row_warnings(const ImportNotes& notes) {
  std::vector<std::string> said;
  for (const auto& [reason, count] : notes.counts)
    said.push_back(fmt::format("{} rows are not used ({}), the first at byte {}", count, reason,
                               notes.first_byte.at(reason)));
  return said;
}

// What the request asks of traces and a table cannot give; empty where there is nothing of that.
std::string_view of_traces_only(const AnalyzeRequest& request) {
  if (!request.traces.ranks.empty()) return "--ranks";
  if (request.traces.window) return "--filter-time";
  return {};
}

Result<Done> check_usage(const AnalyzeRequest& request, std::span<const std::string> tables) {
  if (const std::string_view flag = of_traces_only(request); !flag.empty())
    return Error{.what = std::string(flag) + " is for traces, and " + tables.front() +
                         " is a job's table of operations"};
  if (tables.size() > 1)
    return Error{
        .what = fmt::format("{} tables of operations, {} among them", tables.size(), tables[1]),
        .file = tables.front(),
        .hint = "each is a job of its own: name one"};
  if (request.traces.inputs.size() > 1)
    return Error{.what = "a job's table of operations is analysed alone",
                 .file = tables.front(),
                 .hint = "name it without other inputs"};
  return Done{};
}

void take(JobTable& table, const AnalyzeRequest& request, const Progress& progress,
          AnalyzeResult& result) {
  Analysis& a = result.analysis;
  a.inputs.push_back(input_row(table));
  for (const Error& e : table.errors) fail(progress, result.failures, e);
  a.warnings = table.warnings;
  for (std::string& said : row_warnings(table.operations.notes))
    a.warnings.push_back(std::move(said));
  choose_steps(request.traces, table.operations);
  auto analyzed = analyze_straggler_job(table.operations, table.meta);
  if (!analyzed)
    return fail(progress, result.failures, {.what = analyzed.error().what, .file = table.path});
  a.world_size = analyzed->meta.world_size;
  a.answer = straggler_verdict(*analyzed);
  for (std::string& said : straggler_warnings(*analyzed)) a.warnings.push_back(std::move(said));
  a.straggler_job = std::move(*analyzed);
}

}  // namespace

Result<AnalyzeResult> analyze_job_operations(const AnalyzeRequest& request,
                                             std::span<const std::string> tables,
                                             const Progress& progress) {
  if (const auto checked = check_usage(request, tables); !checked) return checked.error();
  AnalyzeResult result;
  result.analysis.version = version();
  const auto begin = std::chrono::steady_clock::now();
  auto table = read_job_table(tables.front());
  result.analysis.read_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (table) {
    take(*table, request, progress, result);
  } else {
    fail(progress, result.failures, table.error());
    InputRow row;
    row.path = tables.front();
    row.error = table.error().what;
    result.analysis.inputs.push_back(std::move(row));
  }
  return result;
}

}  // namespace stepscope
