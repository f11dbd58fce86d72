// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/analyze_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/read/gpu_log/monitor_time.h"

namespace stepscope {
namespace {

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

}  // namespace

void declare(CLI::App& app, AnalyzeFlags& f) {
  app.description(
      "Accounts for every nanosecond of each step of a run: computing, communicating, waiting for "
      "a peer, copying or idle, and why. Also says which rank is late and what to try first.");
  declare_traces(app, f.traces);
  app.get_option("INPUT")->description(
      "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, patterns, URLs "
      "(https://, s3://). Logs of GPUs (nvidia-smi, DCGM) may lie beside traces.");
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
  declare_programs(app, f.chakra, f.goal);
  app.add_flag("--goal-recorded-times", f.goal_recorded_times,
               "In --goal, let messages only meet and take the recorded times behind them")
      ->needs("--goal")
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

Result<AnalyzeRequest> analyze_request(const AnalyzeFlags& flags) {
  auto traces = traces_request(flags.traces);
  if (!traces) return traces.error();
  if (!flags.gpu_log_zone.empty()) {
    traces->gpu_log_zone = zone_offset(flags.gpu_log_zone);
    if (!traces->gpu_log_zone)
      return Error{.what = "--gpu-log-zone " + flags.gpu_log_zone + " is no zone",
                   .hint = "write UTC, or the distance from it as +01:00 or -03:30"};
  }
  AnalyzeRequest request{.traces = std::move(*traces),
                         .job = flags.job,
                         .timeline = flags.timeline || !flags.html.empty(),
                         .program = !flags.chakra.empty() || !flags.goal.empty()};
  request.job.plan = settings_of(flags.plan);
  return request;
}

}  // namespace stepscope
