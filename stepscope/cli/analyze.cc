// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: flags to request, result to outputs.
#include "stepscope/pipeline/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/plan_source.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/read/gpu_log/monitor_time.h"
#include "stepscope/read/job_table/job_table.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/analyze_json.h"
#include "stepscope/report/json/brief_json.h"
#include "stepscope/report/page/html.h"
#include "stepscope/report/terminal/analyze_text.h"
#include "stepscope/report/terminal/straggler_job_text.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"
#include "stepscope/write/merged_trace.h"

namespace stepscope {
namespace {

struct AnalyzeFlags {
  TracesFlags traces;
  JobDescription job;
  PlanSource plan;
  std::string gpu_log_zone;
  bool timeline = false;
  bool brief = false;
  bool verbose = false;
  std::string json;
  std::string html;
  std::string csv;
  std::string perfetto;
  std::string write_machine;
};

// What of a plan has no flag of its own here already.
void declare_plan_of_run(CLI::App& app, PlanSource& plan) {
  static constexpr std::array<std::string_view, 5> here = {"tp", "pp", "dp", "seq", "global-batch"};
  std::vector<std::string_view> names;
  for (const PlanField& field : plan_fields())
    if (std::ranges::find(here, field.name) == here.end()) names.push_back(field.name);
  declare_plan_file(app, plan);
  declare_gpus_per_node(app, plan);
  declare_fields(app, plan, names);
}

void declare(CLI::App& app, AnalyzeFlags& f) {
  app.description(
      "Accounts for every nanosecond of each step of a run: computing, communicating, waiting for "
      "a peer, copying or idle, and why. Also says which rank is late and what to try first.");
  declare_traces(app, f.traces);
  app.get_option("INPUT")->description(
      "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, patterns; or a "
      "job's table of operations (CSV, Parquet). Logs of GPUs (nvidia-smi, DCGM) may lie beside "
      "traces.");
  app.add_option("--gpu-log-zone", f.gpu_log_zone,
                 "Zone of the times in logs of GPUs that name none: UTC, +01:00, -03:30. Without "
                 "it the zone in which log and capture overlap, if there is only one.")
      ->type_name("ZONE")
      ->group("Inputs");
  const char* outputs = "Outputs";
  declare_json(app, f.json);
  declare_html(app, f.html);
  declare_csv(app, f.csv);
  app.add_option("--perfetto", f.perfetto,
                 "Write all ranks as one trace for ui.perfetto.dev: native (.pftrace, .pftrace.gz) "
                 "or Chrome's JSON (.json, .json.gz)")
      ->type_name("FILE")
      ->group(outputs);
  app.add_option("--write-machine", f.write_machine,
                 "Write the machine with its links fitted to the measured transfers, for --machine")
      ->type_name("FILE")
      ->group(outputs);
  CLI::Option* brief =
      app.add_flag("--brief", f.brief,
                   "Print only the answer and what to try; with --json, write only these")
          ->group(outputs);
  app.add_flag("-v,--verbose", f.verbose, "Print every table")->excludes(brief)->group(outputs);
  app.add_flag("--timeline", f.timeline, "Put the page's reduced timeline into the JSON too")
      ->group(outputs);
  declare_job(app, f.job);
  as_choice(app.add_option("--peak-dtype", f.job.peak_dtype,
                           "Format whose peak counts where the trace does not show the format"),
            {"bf16", "fp16", "fp8", "tf32", "fp32"})
      ->group("Machine");
  as_positive(app.add_option("--price", f.job.price_per_gpu_hour,
                             "Price of a GPU-hour, which shows each loss in money a day too"))
      ->group("Machine");
  declare_plan_of_run(app, f.plan);
  mark_common(app, {"--verbose", "--steps", "--ranks", "--json", "--html", "--csv", "--perfetto",
                    "--model", "--machine", "--peak-tflops"});
  app.footer(
      "stepscope analyze examples/train_tiny/traces/ddp --html report.html\n"
      "stepscope analyze traces/ --model llama-3-8b --global-batch 64 --seq 4096 --zero 3");
}

// The page always has the timeline; it shows units, not each fetch of one, of which large jobs have
// millions.
void write_page(const std::string& path, Json tree, const Analysis& a, Failures& failures) {
  if (Json& waits = tree["unit_waits"]; !waits.is_null()) {
    waits.erase("fetches");
    waits.erase("reduces");
  }
  std::string json = json_text(tree);
  if (!a.straggler_job) append_timeline(json, a.job);
  failures.keep(write_file(path, render_html(json)));
}

// What the findings name on a rank.
std::vector<TraceMark> marks_of(const std::vector<Finding>& findings, int rank) {
  std::vector<TraceMark> marks;
  for (const Finding& f : findings) {
    const auto add = [&](const FindingPlace& p) {
      if (p.rank == rank) marks.push_back({p.start, p.time, f.what, f.advice});
    };
    for (const FindingPlace& p : f.places) add(p);
    if (f.places.empty() && f.place) add(*f.place);
  }
  return marks;
}

void write_outputs(const AnalyzeFlags& flags, const AnalyzeResult& result, const StopFlag& stop,
                   Failures& failures) {
  const Analysis& a = result.analysis;
  if (!flags.json.empty() && flags.brief)
    write_json_text(flags.json, json_text(brief_tree(a)), failures);
  const bool whole_json = !flags.json.empty() && !flags.brief;
  if (whole_json || !flags.html.empty() || !flags.csv.empty()) {
    Json tree = analyze_tree(a);
    if (whole_json) {
      std::string json = json_text(tree);
      if (flags.timeline) append_timeline(json, a.job);
      write_json_text(flags.json, json, failures);
    }
    if (!flags.csv.empty()) write_tables(flags.csv, analyze_csv(tree), failures);
    if (!flags.html.empty()) write_page(flags.html, std::move(tree), a, failures);
  }
  if (flags.perfetto.empty()) return;
  std::vector<RankToWrite> ranks;
  for (const RankInput& r : result.ranks)
    ranks.push_back({r.rank, r.trace, marks_of(a.findings, r.rank)});
  failures.keep(write_merged_trace(ranks, flags.perfetto, &stop));
}

// --write-machine: the machine of the run, its links as these transfers show them.
void write_fitted_machine(const AnalyzeFlags& flags, const Analysis& analysis, Failures& failures) {
  const auto fitted = machine_of_transfers(analysis);
  if (!fitted) {
    Error error = fitted.error();
    error.what = "--write-machine: " + error.what;
    return failures.add(error);
  }
  failures.keep(write_file(flags.write_machine, machine_text(fitted->machine)));
  if (flags.json != "-")
    fmt::print("{}: {} with links fitted to {}, {} off on average; for --machine\n",
               flags.write_machine, fitted->machine.name, counted(fitted->timings, "transfer time"),
               format_percent(fitted->mean_error));
}

// What the flags ask of traces and a table of operations cannot give; empty where there is none.
std::string_view of_traces_only(const AnalyzeFlags& flags) {
  if (!flags.csv.empty()) return "--csv";
  if (!flags.perfetto.empty()) return "--perfetto";
  return flags.timeline ? "--timeline" : std::string_view();
}

Result<AnalyzeRequest> request_of(const AnalyzeFlags& flags) {
  auto traces = traces_request(flags.traces);
  if (!traces) return traces.error();
  if (const std::string_view flag = of_traces_only(flags); !flag.empty())
    if (const auto tables = find_job_tables(traces->inputs); !tables.empty())
      return Error{.what = std::string(flag) + " is for traces, and " + tables.front() +
                           " is a job's table of operations",
                   .hint = "leave " + std::string(flag) + " out"};
  if (!flags.gpu_log_zone.empty()) {
    traces->gpu_log_zone = zone_offset(flags.gpu_log_zone);
    if (!traces->gpu_log_zone)
      return Error{.what = "--gpu-log-zone " + flags.gpu_log_zone + " is no zone",
                   .hint = "write UTC, or the distance from it as +01:00 or -03:30"};
  }
  AnalyzeRequest request{.traces = std::move(*traces),
                         .job = flags.job,
                         .timeline = flags.timeline || !flags.html.empty()};
  request.job.plan = settings_of(flags.plan);
  return request;
}

std::string text_of(const Analysis& a, const TextOptions& options) {
  return a.straggler_job ? straggler_text(a, options) : analyze_text(a, options);
}

int answer(const AnalyzeFlags& flags) {
  const auto request = request_of(flags);
  if (!request) return refused(request.error());
  const StopFlag& stop = stop_on_signals();
  Failures failures;
  const auto result = analyze(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  const Analysis& a = result->analysis;
  const bool some = !a.job.ranks.empty() || a.straggler_job;
  if (flags.json != "-" && some)
    print_text(text_of(a, {.width = terminal_width(),
                           .colour = wants_colour(),
                           .detail = flags.brief     ? TextDetail::brief
                                     : flags.verbose ? TextDetail::all
                                                     : TextDetail::usual,
                           .details = flags.html}));
  if (some || !flags.json.empty()) write_outputs(flags, *result, stop, failures);
  if (!flags.write_machine.empty()) write_fitted_machine(flags, a, failures);
  flush_output(failures);
  if (stop.requested() || failures.interrupted()) return exit_interrupted;
  return failures.any() || !some ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_analyze(CLI::App& app) {
  auto flags = std::make_shared<AnalyzeFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
