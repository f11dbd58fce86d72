// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: reads, asks every question, and hands the answers to the faces. Nothing is
// computed here.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "stepscope/analysis/job.h"
#include "stepscope/base/output_file.h"
#include "stepscope/cli/analyze_expected.h"
#include "stepscope/cli/analyze_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/read/input_files.h"
#include "stepscope/read/read_trace.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/text_report.h"
#include "stepscope/report/warnings.h"
#include "stepscope/report/words.h"
#include "stepscope/write/chrome_trace.h"

namespace stepscope {
namespace {

Run read_inputs(const AnalyzeFlags& flags, const StopFlag& stop, Failures& failures,
                double& seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const InputFiles files = find_input_files(flags.inputs);
  for (const Error& e : files.errors) failures.add(e);
  ProgressLine line("reading");
  Run run = read_run(files.files, {.threads = flags.threads,
                                   .stop = &stop,
                                   .progress = [&](std::uint64_t done, std::uint64_t total) {
                                     line.show(done, total);
                                   }});
  for (const InputReport& i : run.inputs)
    if (i.error) failures.add(*i.error);
  for (const Error& e : run.errors) failures.add(e);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

std::string_view name_of(RankSource source) {
  switch (source) {
    case RankSource::metadata:
      return "metadata";
    case RankSource::file_name:
      return "file_name";
    case RankSource::only_file:
      return "only_file";
    case RankSource::order:
      return "order";
  }
  return "";
}

std::vector<InputRow> input_rows(const Run& run) {
  std::vector<InputRow> rows;
  for (const InputReport& i : run.inputs) {
    InputRow row;
    row.path = i.path;
    row.format = i.format;
    row.rank = i.rank;
    for (const RankTrace& r : run.ranks)
      if (i.rank == r.rank && !i.error) row.rank_source = name_of(r.source);
    if (i.clock) row.clock = *i.clock == Clock::unix_epoch ? "unix" : "relative";
    row.file_bytes = i.file_bytes;
    row.text_bytes = i.text_bytes;
    row.events = i.notes.events;
    row.truncated = i.notes.truncated;
    row.notes = {i.notes.counts.begin(), i.notes.counts.end()};
    if (i.error) row.error = i.error->what;
    rows.push_back(std::move(row));
  }
  return rows;
}

JobOptions job_options(const AnalyzeFlags& flags, const StopFlag& stop,
                       std::optional<int> world_size) {
  JobOptions options;
  options.steps.annotation = flags.step_annotation;
  options.first_step = flags.first_step;
  options.last_step = flags.last_step;
  options.world_size = flags.sizes.world_size() ? flags.sizes.world_size() : world_size;
  options.dimensions = flags.dimensions;
  options.sizes = flags.sizes;
  options.timeline = !flags.html.empty() || flags.timeline;
  options.threads = flags.threads;
  options.stop = &stop;
  return options;
}

// --machine, else what the catalogue knows of the ranks' GPU.
const Machine* machine_of(const AnalyzeFlags& flags, const JobResult& job) {
  if (flags.machine) return &*flags.machine;
  for (const RankResult& r : job.ranks)
    if (!r.gpu_name.empty()) return find_machine(r.gpu_name, r.gpu_memory);
  return nullptr;
}

// One text for both; the page always has the timeline.
void write_json_and_page(const AnalyzeFlags& flags, const Json& tree, const JobResult& job,
                         Failures& failures) {
  std::string json = json_text(tree);
  if (!flags.timeline) write_json_text(flags.json, json, failures);
  append_timeline(json, job);
  if (flags.timeline) write_json_text(flags.json, json, failures);
  if (!flags.html.empty()) failures.keep(write_file(flags.html, render_html(json)));
}

void write_outputs(const AnalyzeFlags& flags, const AnalyzeReport& report,
                   std::span<const RankToWrite> ranks, const StopFlag& stop, Failures& failures) {
  const bool as_text = !flags.json.empty() || !flags.html.empty();
  if (as_text || !flags.csv.empty()) {
    const Json tree = analyze_tree(report);
    if (as_text) write_json_and_page(flags, tree, *report.job, failures);
    if (!flags.csv.empty()) write_tables(flags.csv, analyze_csv(tree), failures);
  }
  if (!flags.perfetto.empty()) failures.keep(write_chrome_trace(ranks, flags.perfetto, &stop));
}

std::string recorded_ranks(const Run& run) {
  std::vector<int> ranks;
  ranks.reserve(run.ranks.size());
  for (const RankTrace& r : run.ranks) ranks.push_back(r.rank);
  return ranks_in_words(ranks);
}

// --steps that leave nothing are a mistake worth a line and no success.
void check_steps(const AnalyzeFlags& flags, const JobResult& job, Failures& failures) {
  if (flags.steps_text.empty() || job.ranks.empty() || !job.steps.empty() || !job.recorded_steps)
    return;
  failures.add({.what = fmt::format("no step of --steps {} is in the traces, which have {} to {}",
                                    flags.steps_text, job.recorded_steps->first,
                                    job.recorded_steps->second)});
}

// The flags that need a file or a list read; wrong ones are wrong usage.
int analyze(AnalyzeFlags& flags) {
  if (const auto resolved = resolve(flags); !resolved) return refused(resolved.error());
  const StopFlag& stop = stop_on_signals();
  Failures failures;
  AnalyzeReport report;
  report.version = STEPSCOPE_VERSION;
  Run run = read_inputs(flags, stop, failures, report.read_seconds);
  report.inputs = input_rows(run);
  std::vector<RankInput> ranks;
  std::vector<RankToWrite> to_write;
  for (const RankTrace& r : run.ranks) {
    if (!flags.ranks.empty() && !flags.ranks.contains(r.rank)) continue;
    ranks.push_back({r.rank, &r.trace});
    to_write.push_back({r.rank, &r.trace});
  }
  if (stop.requested()) return exit_interrupted;
  if (ranks.empty() && !run.ranks.empty())
    failures.add({.what = "no rank of --ranks " + flags.ranks_text +
                          " is in the traces, which have " + recorded_ranks(run)});
  const JobOptions options = job_options(flags, stop, run.world_size);
  const JobResult job = analyze_job(ranks, options);
  if (job.interrupted) return exit_interrupted;
  check_steps(flags, job, failures);
  report.job = &job;
  report.world_size = options.world_size ? options.world_size : job.collectives.matches.world_size;
  report.machine = machine_of(flags, job);
  report.peak_override = flags.peak;
  report.step_annotation = flags.step_annotation;
  std::optional<Error> no_mfu;
  auto mfu = mfu_of_job(job, {.model_flops = flags.model_flops,
                              .peak = flags.peak,
                              .dtype = flags.dtype,
                              .price_per_gpu_hour = flags.price,
                              .machine = report.machine,
                              .world_size = report.world_size});
  if (mfu)
    report.mfu = std::move(*mfu);
  else
    no_mfu = mfu.error();
  report.answer = find_answer(job, report.mfu, report.machine);
  report.warnings = analyze_warnings(report, no_mfu);
  report.expected = expected_of_job(flags, report, run.world_size, report.warnings, failures);
  if (flags.json != "-" && !ranks.empty())
    fmt::print("{}", analyze_text(report, {.width = terminal_width(),
                                           .colour = wants_colour(),
                                           .details = flags.html}));
  if (!ranks.empty() || !flags.json.empty()) write_outputs(flags, report, to_write, stop, failures);
  flush_output(failures);
  if (stop.requested() || failures.interrupted()) return exit_interrupted;
  return failures.any() || ranks.empty() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_analyze(CLI::App& app) {
  auto flags = std::make_shared<AnalyzeFlags>();
  declare(app, *flags);
  return [flags] { return analyze(*flags); };
}

}  // namespace stepscope
