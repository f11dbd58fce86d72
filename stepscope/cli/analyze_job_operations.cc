// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/analyze_job_operations.h"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/diagnose/straggler_job_verdict.h"
#include "stepscope/read/job_table/job_table.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/straggler_job_report.h"

namespace stepscope {
namespace {

// Rows of the steps that --steps asks for.
void choose_steps(const AnalyzeFlags& flags, JobOperations& t) {
  if (!flags.first_step && !flags.last_step) return;
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
    if (t.step[r] >= flags.first_step.value_or(t.step[r]) &&
        t.step[r] <= flags.last_step.value_or(t.step[r]))
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

void write_outputs(const AnalyzeFlags& flags, const Analysis& report, Failures& failures) {
  if (flags.json.empty() && flags.html.empty()) return;
  const std::string json = json_text(analyze_tree(report));
  write_json_text(flags.json, json, failures);
  if (!flags.html.empty()) failures.keep(write_file(flags.html, render_html(json)));
}

// What the flags ask of traces and a table cannot give; empty where there is none.
std::string_view of_traces_only(const AnalyzeFlags& flags) {
  if (!flags.csv.empty()) return "--csv";
  if (!flags.perfetto.empty()) return "--perfetto";
  if (flags.timeline) return "--timeline";
  if (!flags.ranks_text.empty()) return "--ranks";
  if (!flags.window_text.empty()) return "--filter-time";
  return {};
}

}  // namespace

int analyze_job_operations(const AnalyzeFlags& flags, std::span<const std::string> tables) {
  if (const std::string_view flag = of_traces_only(flags); !flag.empty())
    return refused({.what = std::string(flag) + " is for traces, and " + tables.front() +
                            " is a job's table of operations"});
  if (tables.size() > 1)
    return refused(
        {.what = fmt::format("{} tables of operations, {} among them", tables.size(), tables[1]),
         .file = tables.front(),
         .hint = "each is a job of its own: name one"});
  if (flags.inputs.size() > 1)
    return refused({.what = "a job's table of operations is analysed alone",
                    .file = tables.front(),
                    .hint = "name it without other inputs"});
  Failures failures;
  const auto begin = std::chrono::steady_clock::now();
  auto table = read_job_table(tables.front());
  Analysis report;
  report.version = STEPSCOPE_VERSION;
  report.read_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (table) {
    report.inputs.push_back(input_row(*table));
    for (const Error& e : table->errors) failures.add(e);
    report.warnings = table->warnings;
    for (std::string& said : row_warnings(table->operations.notes))
      report.warnings.push_back(std::move(said));
    choose_steps(flags, table->operations);
    auto analyzed = analyze_straggler_job(table->operations, table->meta);
    if (analyzed)
      report.straggler_job = std::move(*analyzed);
    else
      failures.add({.what = analyzed.error().what, .file = table->path});
  } else {
    failures.add(table.error());
    InputRow row;
    row.path = tables.front();
    row.error = table.error().what;
    report.inputs.push_back(std::move(row));
  }
  if (const auto& job = report.straggler_job) {
    report.world_size = job->meta.world_size;
    report.answer = straggler_verdict(*job);
    for (std::string& said : straggler_warnings(*job)) report.warnings.push_back(std::move(said));
    if (flags.json != "-")
      fmt::print("{}", straggler_text(report, {.width = terminal_width(),
                                               .colour = wants_colour(),
                                               .details = flags.html}));
  }
  write_outputs(flags, report, failures);
  flush_output(failures);
  return failures.any() || !report.straggler_job ? exit_failed : exit_done;
}

}  // namespace stepscope
