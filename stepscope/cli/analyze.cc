// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: reads, asks every question, and hands the answers to the faces. Nothing is
// computed here.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "stepscope/analysis/matching/host_clock.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/output_file.h"
#include "stepscope/cli/analyze_expected.h"
#include "stepscope/cli/analyze_flags.h"
#include "stepscope/cli/analyze_inputs.h"
#include "stepscope/cli/analyze_job_operations.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/diagnose/findings.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/fit/mfu_job.h"
#include "stepscope/fit/transfer_fit.h"
#include "stepscope/read/job_table/job_table.h"
#include "stepscope/report/csv_report.h"
#include "stepscope/report/explanation_report.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/text_report.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"
#include "stepscope/write/merged_trace.h"

namespace stepscope {
namespace {

// The page always has the timeline; it shows units, not each fetch of one, of which large jobs have
// millions.
void write_page(const std::string& path, Json tree, const JobResult& job, Failures& failures) {
  if (Json& waits = tree["unit_waits"]; !waits.is_null()) {
    waits.erase("fetches");
    waits.erase("reduces");
  }
  std::string json = json_text(tree);
  append_timeline(json, job);
  failures.keep(write_file(path, render_html(json)));
}

void write_outputs(const AnalyzeFlags& flags, const Analysis& report,
                   std::span<const RankToWrite> ranks, const StopFlag& stop, Failures& failures) {
  if (!flags.json.empty() || !flags.html.empty() || !flags.csv.empty()) {
    Json tree = analyze_tree(report);
    if (!flags.json.empty()) {
      std::string json = json_text(tree);
      if (flags.timeline) append_timeline(json, report.job);
      write_json_text(flags.json, json, failures);
    }
    if (!flags.csv.empty()) write_tables(flags.csv, analyze_csv(tree), failures);
    if (!flags.html.empty()) write_page(flags.html, std::move(tree), report.job, failures);
  }
  if (!flags.perfetto.empty()) failures.keep(write_merged_trace(ranks, flags.perfetto, &stop));
}

// --write-machine: the machine of the run, its links as these transfers show them.
void write_fitted_machine(const AnalyzeFlags& flags, const Analysis& report, Failures& failures) {
  if (!report.machine)
    return failures.add(
        {.what = "--write-machine: the device of these traces is not in the catalogue",
         .hint = "give --machine NAME or FILE to start from"});
  std::string inputs;
  for (const InputRow& i : report.inputs)
    if (inputs.size() < 200) inputs += (inputs.empty() ? "" : ", ") + i.path;
  const auto fitted =
      fitted_machine(*report.machine, report.job.collectives, report.world_size,
                     "links: stepscope analyze --write-machine, transfers of " + inputs);
  if (!fitted) return failures.add(fitted.error());
  failures.keep(write_file(flags.write_machine, machine_text(fitted->machine)));
  if (flags.json != "-")
    fmt::print("{}: {} with links fitted to {}, {} off on average; for --machine\n",
               flags.write_machine, fitted->machine.name, counted(fitted->timings, "transfer time"),
               format_percent(fitted->mean_error));
}

// The flags that need a file or a list read; wrong ones are wrong usage.
int analyze(AnalyzeFlags& flags) {
  if (const auto resolved = resolve(flags); !resolved) return refused(resolved.error());
  if (const auto tables = find_job_tables(flags.inputs); !tables.empty())
    return analyze_job_operations(flags, tables);
  const StopFlag& stop = stop_on_signals();
  Failures failures;
  Analysis report;
  report.version = STEPSCOPE_VERSION;
  Run run = read_inputs(flags, stop, failures, report.read_seconds);
  report.inputs = input_rows(run);
  if (stop.requested()) return exit_interrupted;
  const std::vector<RankInput> ranks = wanted_ranks(flags, run, failures);
  std::vector<RankToWrite> to_write;
  to_write.reserve(ranks.size());
  for (const RankInput& r : ranks) {
    // What a file's name tells is lost in a merged trace.
    if (std::string host = host_of(r.trace->metadata); !host.empty())
      r.trace->metadata.texts.try_emplace("host_name", std::move(host));
    to_write.push_back({r.rank, r.trace});
  }
  const JobOptions options = job_options(flags, stop, run.world_size);
  report.job = analyze_job(ranks, options);
  const JobResult& job = report.job;
  if (job.interrupted) return exit_interrupted;
  check_steps(flags, job, failures);
  report.world_size = options.world_size ? options.world_size : job.collectives.matches.world_size;
  if (const Machine* machine = machine_of(flags, job)) report.machine = *machine;
  const Machine* const machine = report.machine ? &*report.machine : nullptr;
  report.peak_override = flags.peak;
  report.step_annotation = flags.step_annotation;
  std::optional<Error> no_mfu;
  auto mfu = mfu_of_job(job, {.model_flops = flags.model_flops,
                              .peak = flags.peak,
                              .dtype = flags.dtype,
                              .price_per_gpu_hour = flags.price,
                              .machine = machine,
                              .world_size = report.world_size});
  if (mfu)
    report.mfu = std::move(*mfu);
  else
    no_mfu = mfu.error();
  report.link_fits = fit_transfers(job.transfers);
  report.answer = find_verdict(job, report.mfu, machine);
  report.findings = find_findings({.job = job,
                                   .machine = machine,
                                   .world_size = report.world_size,
                                   .model = flags.model ? &*flags.model : nullptr});
  report.warnings = analyze_warnings(report, no_mfu);
  if (job.explanation)
    for (std::string& w : replay_warnings(*job.explanation))
      report.warnings.push_back(std::move(w));
  report.expected = expected_of_job(flags, report, run.world_size, report.warnings, failures);
  if (flags.json != "-" && !ranks.empty())
    print_text(analyze_text(
        report, {.width = terminal_width(), .colour = wants_colour(), .details = flags.html}));
  if (!ranks.empty() || !flags.json.empty()) write_outputs(flags, report, to_write, stop, failures);
  if (!flags.write_machine.empty()) write_fitted_machine(flags, report, failures);
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
