// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze`: flags to request, result to outputs.
#include "stepscope/pipeline/analyze.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/flags/analyze_flags.h"
#include "stepscope/cli/launched.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cost/machine/machine_text.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/analyze_json.h"
#include "stepscope/report/json/brief_json.h"
#include "stepscope/report/page/html.h"
#include "stepscope/report/terminal/analyze_text.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/write/merged_trace.h"

namespace stepscope {
namespace {

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
  if (flags.json != "-")
    fmt::print("{}: {} with links fitted to {}, {} off on average; for --machine\n",
               flags.write_machine, fitted->machine.name, counted(fitted->timings, "transfer time"),
               format_percent(fitted->mean_error));
}

int answer(const AnalyzeFlags& flags) {
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

}  // namespace

std::function<int()> declare_analyze(CLI::App& app) {
  auto flags = std::make_shared<AnalyzeFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
