// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/output_file.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/read/gpu_log/monitor_time.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/analyze.h"
#include "stepscope/verbs/analyze/analyze_json.h"
#include "stepscope/verbs/analyze/analyze_tables.h"
#include "stepscope/verbs/analyze/analyze_text.h"
#include "stepscope/verbs/analyze/brief_json.h"
#include "stepscope/verbs/analyze/whatif.h"
#include "stepscope/verbs/analyze/whatif_views.h"
#include "stepscope/verbs/inputs/launched.h"
#include "stepscope/verbs/inputs/plan_source.h"
#include "stepscope/verbs/inputs/traces_flags.h"
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
  std::string chakra;
  std::string goal;
  bool goal_recorded_times = false;
  std::string write_machine;
};

// What of a plan has no flag of its own here already.
void declare_plan_of_run(CLI::App& app, PlanSource& plan) {
  static constexpr std::array<std::string_view, 5> here = {"tp", "pp", "dp", "seq", "global-batch"};
  declare_plan_file(app, plan);
  declare_gpus_per_node(app, plan);
  declare_fields(app, plan, here);
}

void declare(CLI::App& app, AnalyzeFlags& f) {
  app.description(
      "Accounts for every nanosecond of each step of a run: computing, communicating, waiting for "
      "a peer, copying or idle, and why. Also says which rank is late and what to try first.");
  declare_traces(app, f.traces);
  app.get_option("INPUT")->description(
      "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, patterns, URLs "
      "(https://, s3://). Logs of GPUs (nvidia-smi, DCGM) may be among the files.");
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

// As understood. The errors say what is wrong and what to write.
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

// What the findings name on a rank.
std::vector<TraceMark> marks_of(const std::vector<Finding>& findings, int rank) {
  std::vector<TraceMark> marks;
  for (const Finding& f : findings) {
    const auto add = [&](const FindingPlace& p) {
      if (p.rank == rank) marks.push_back({p.start, p.time, say(f.what), say(f.advice)});
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
    if (!flags.csv.empty()) write_tables(flags.csv, analyze_tables(tree), failures);
    if (!flags.html.empty())
      failures.keep(
          write_report(flags.html, render_html(analyze_page_json(std::move(tree), a.job))));
  }
  write_programs({.chakra = flags.chakra,
                  .goal = flags.goal,
                  .goal_recorded_times = flags.goal_recorded_times},
                 result.program, failures);
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
  if (flags.json == "-") return;
  print_text(fmt::format("{}: {} with links fitted to {}, {} off on average; for --machine\n",
                         flags.write_machine, fitted->machine.name,
                         counted(fitted->timings, "transfer time"),
                         format_percent(fitted->mean_error)));
  for (const bool across : {false, true})
    if (const double reached = across ? fitted->reached_across : fitted->reached_inside;
        reached < 1)
      print_text(say_stopped(msg::links_slower(across, Percent{reached})) + '\n');
}

int run(const AnalyzeFlags& flags) {
  const bool silent = is_silent();
  auto request = analyze_request(flags);
  if (!request) return silent ? exit_done : refused(request.error());
  request->details = !flags.perfetto.empty();  // nobody else reads the traces again
  const StopFlag& stop = stop_on_signals();
  const auto crew = join_launched(request->traces);
  if (!crew) return refused(crew.error());
  if (crew->lent) return exit_done;
  Failures failures;
  const auto result = analyze(*request, progress_of(failures));
  if (!result) return silent ? exit_done : ended(result.error(), failures);
  const Analysis& a = result->analysis;
  const bool some = !a.job.ranks.empty();
  if (silent) return exit_done;
  if (flags.json != "-" && some)
    print_text(analyze_text(a, {.width = terminal_width(),
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

Result<Answer> answer(const AnalyzeFlags& flags, const Progress& progress) {
  auto asked = analyze_request(flags);
  if (!asked) return wrong_request(asked.error());
  const auto request = std::make_shared<const AnalyzeRequest>(std::move(*asked));
  auto found = analyze(*request, progress);
  if (!found) return found.error();
  const auto result = std::make_shared<AnalyzeResult>(std::move(*found));
  if (result->analysis.job.ranks.empty() && !result->failures.empty())
    return result->failures.front();
  const auto alone = std::make_shared<std::mutex>();  // for what uses the traces again
  return Answer{
      .tree = [result] { return analyze_tree(result->analysis); },
      .brief = [result] { return brief_tree(result->analysis); },
      .text =
          [result](const TextOptions& options) { return analyze_text(result->analysis, options); },
      .tables = analyze_tables,
      .page =
          [request, result, alone](Json tree) {
            const std::lock_guard lock(*alone);
            add_timeline(*request, *result);
            return render_html(analyze_page_json(std::move(tree), result->analysis.job));
          },
      .whatif = [request, result, alone](const std::vector<std::string>& changes,
                                         const std::string& machine,
                                         const Progress& replaying) -> Result<Answer> {
        WhatIfRequest question{.traces = request->traces, .machine = machine, .changes = {}};
        for (const std::string& text : changes) {
          auto change = parse_scenario(text);
          if (!change) return wrong_request(change.error());
          question.changes.push_back(std::move(*change));
        }
        const std::lock_guard lock(*alone);
        auto answered = whatif(question, *result, replaying);
        if (!answered) return answered.error();
        return whatif_answer(std::move(*answered));
      },
      .failures = result->failures};
}

VerbRun declare_analyze(CLI::App& app) {
  const auto flags = std::make_shared<AnalyzeFlags>();
  declare(app, *flags);
  return {.command = [flags] { return run(*flags); },
          .answer = [flags](const Progress& progress) { return answer(*flags, progress); }};
}

}  // namespace

extern const Verb analyze_verb{
    "analyze", "Account for every step of a run, from the traces of its ranks", "Understand a run",
    "how-to/analyze-your-traces.md", declare_analyze};

}  // namespace stepscope
