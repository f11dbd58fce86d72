// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: flags to request, result to outputs.
#include "stepscope/pipeline/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/plan_source.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/read/job_table/job_table.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/analyze_json.h"
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
  bool timeline = false;
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
  app.add_option(
         "--plan", plan.plan_file,
         "The plan of the run as JSON (docs/reference/plans.md), for what the model expects "
         "of it; flags override it")
      ->type_name("FILE")
      ->group("Plan");
  app.add_option("--gpus-per-node", plan.gpus_per_node, "Devices that share the fast links")
      ->check(positive_number())
      ->type_name("N")
      ->group("Plan");
  declare_fields(app, plan, names);
}

void declare(CLI::App& app, AnalyzeFlags& f) {
  declare_traces(app, f.traces);
  app.get_option("INPUT")->description(
      "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, patterns; or a "
      "job's table of operations (CSV, Parquet; docs/explanation/stragglers.md)");
  app.add_option("--json", f.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.html, "Write one self-contained page")->type_name("FILE");
  app.add_option("--csv", f.csv, "Write the tables as CSV files into this directory")
      ->type_name("DIR");
  app.add_option("--perfetto", f.perfetto,
                 "Write all ranks as one trace for ui.perfetto.dev: native (.pftrace, .pftrace.gz) "
                 "or Chrome's JSON (.json, .json.gz)")
      ->type_name("FILE");
  app.add_option("--write-machine", f.write_machine,
                 "Write the machine with its links fitted to the measured transfers, for --machine")
      ->type_name("FILE");
  app.add_flag("--timeline", f.timeline, "Put the page's reduced timeline into the JSON too");
  app.add_option("--model-flops-per-step", f.job.model_flops_per_step,
                 "FLOPs of the model for one global batch, without recompute: gives MFU")
      ->check(positive_number())
      ->type_name("N");
  app.add_option(
         "--model", f.job.model,
         "The model, to count those FLOPs by every convention and to expect the step: a name, a "
         "file of ours or a Hugging Face config.json")
      ->type_name("NAME|FILE");
  app.add_option("--global-batch", f.job.global_batch,
                 "Sequences of one optimizer step, for --model")
      ->check(positive_number())
      ->type_name("N");
  app.add_option("--seq", f.job.sequence, "Tokens of a sequence, for --model")
      ->check(positive_number())
      ->type_name("N");
  declare_plan_of_run(app, f.plan);
  app.add_option("--peak-tflops", f.job.peak_tflops,
                 "Peak of one device, instead of the catalogue's")
      ->check(positive_number())
      ->type_name("N");
  app.add_option(
         "--peak-dtype", f.job.peak_dtype,
         "Which peak counts where the trace does not show the format: bf16, fp16, fp8, tf32, fp32")
      ->type_name("FORMAT");
  app.add_option("--machine", f.job.machine,
                 "The device: a machine of the catalogue or a file (as data/machines/*.json)")
      ->type_name("NAME|FILE");
  app.add_option("--price", f.job.price_per_gpu_hour,
                 "Price of a GPU-hour: each loss also in money a day")
      ->check(positive_number())
      ->type_name("N");
  app.footer("Example: stepscope analyze examples/train_tiny/traces/ddp --html report.html");
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

void write_outputs(const AnalyzeFlags& flags, const AnalyzeResult& result, const StopFlag& stop,
                   Failures& failures) {
  const Analysis& a = result.analysis;
  if (!flags.json.empty() || !flags.html.empty() || !flags.csv.empty()) {
    Json tree = analyze_tree(a);
    if (!flags.json.empty()) {
      std::string json = json_text(tree);
      if (flags.timeline) append_timeline(json, a.job);
      write_json_text(flags.json, json, failures);
    }
    if (!flags.csv.empty()) write_tables(flags.csv, analyze_csv(tree), failures);
    if (!flags.html.empty()) write_page(flags.html, std::move(tree), a, failures);
  }
  if (flags.perfetto.empty()) return;
  std::vector<RankToWrite> ranks;
  for (const RankInput& r : result.ranks) ranks.push_back({r.rank, r.trace});
  failures.keep(write_merged_trace(ranks, flags.perfetto, &stop));
}

// --write-machine: the machine of the run, its links as these transfers show them.
void write_fitted_machine(const AnalyzeFlags& flags, const Analysis& analysis, Failures& failures) {
  const auto fitted = machine_of_transfers(analysis);
  if (!fitted) return failures.add(fitted.error());
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
                           " is a job's table of operations"};
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
    print_text(
        text_of(a, {.width = terminal_width(), .colour = wants_colour(), .details = flags.html}));
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
