// SPDX-License-Identifier: Apache-2.0
// `stepscope runs`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>
#include <string>

#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/inputs/measuring_flags.h"
#include "stepscope/verbs/inputs/traces_flags.h"
#include "stepscope/verbs/runs/runs.h"
#include "stepscope/verbs/runs/runs_views.h"

namespace stepscope {

namespace {

struct RunsFlags {
  RunsRequest request;  // what needs no understanding is written here at once
  std::string unit{};
  StatisticsFlags statistics;
  std::string inconclusive = "fail";
  std::string restore;  // a run whose digests are wanted; empty: none
  std::string restored_to;
  OutputPaths out;
};

void declare(CLI::App& app, RunsFlags& f) {
  const char* history = "History";
  app.description(
      "Keeps the step times, findings and digests of a job's runs in one SQLite file, and says "
      "from "
      "which run on the steps changed, and in what. New runs are read; the others are known.");
  app.add_option("DIR", f.request.folder,
                 "Folder of runs. Each folder in it is one: the traces of its ranks. So is each "
                 "trace, log, JSON of stepscope train, or list of step times in it.")
      ->required()
      ->type_name("DIR");
  app.add_option("--commit", f.request.commit, "Commit of the program, for the runs that are new")
      ->type_name("SHA")
      ->group(history);
  app.add_option("--tag", f.request.tag, "Name for the runs that are new, such as nightly")
      ->type_name("TAG")
      ->group(history);
  app.add_option("--history", f.request.history, "The file. Default: stepscope-runs.sqlite in DIR.")
      ->type_name("FILE")
      ->group(history);
  app.add_option("--restore", f.restore,
                 "Write the digests of this run's traces to --out and do nothing else")
      ->type_name("RUN")
      ->group(history);
  app.add_option("-o,--out", f.restored_to, "With --restore: folder for the digests; it is made")
      ->type_name("DIR")
      ->group(history);
  app.add_option("--baseline", f.request.baseline,
                 "Tag, commit or name of the runs that all others are compared with. Default: each "
                 "run is compared with the one before.")
      ->type_name("NAME")
      ->group(history);
  declare_unit(app, f.unit);
  declare_log_pattern(app, f.request.reading.steps.pattern);
  declare_step_annotation(app, f.request.reading.step_annotation, "Inputs");
  declare_kernel_rules(app, f.request.reading.kernel_rules, "Inputs");
  declare_threads(app, f.request.reading.threads, "Inputs");
  declare_job(app, f.request.job);
  declare_statistics(app, f.statistics);
  declare_regression(app, f.request.max_regression, f.inconclusive,
                     "Slowdown of the newest run above which the exit code is 3; 4 if the "
                     "steps cannot tell");
  declare_json(app, f.out.json);
  mark_common(app, {"--commit", "--tag", "--baseline", "--max-regression", "--json"});
  app.footer(
      "stepscope runs runs/ --tag nightly --commit $(git rev-parse HEAD)\n"
      "stepscope runs runs/ --baseline v1.2 --max-regression 2%\n"
      "stepscope runs runs/ --restore nightly-7 --out nightly-7 && stepscope analyze nightly-7");
}

// The same with --restore.
Result<RestoreRequest> restore_request(const RunsFlags& f) {
  if (f.restored_to.empty())
    return Error{.what = "--restore needs --out",
                 .hint = "write stepscope runs DIR --restore RUN --out FOLDER"};
  return RestoreRequest{.folder = f.request.folder,
                        .history = f.request.history,
                        .run = f.restore,
                        .output = f.restored_to};
}

// As understood. The errors say what is wrong and what to write.
Result<RunsRequest> runs_request(const RunsFlags& f) {
  if (f.inconclusive != "fail" && !f.request.max_regression)
    return Error{.what = "--inconclusive needs --max-regression",
                 .hint = "write stepscope runs DIR --max-regression 2% --inconclusive ok"};
  if (!f.restored_to.empty())
    return Error{.what = "--out needs --restore",
                 .hint = "write stepscope runs DIR --restore RUN --out FOLDER"};
  RunsRequest r = f.request;
  r.reading.steps.unit = time_unit(f.unit);
  r.options.ratio.alpha = f.statistics.alpha;
  r.options.ratio.floor = f.statistics.floor;
  r.options.warm_up = f.statistics.warm_up;
  return r;
}

ExitCode exit_code(const RunsResult& r, const RunsFlags& f) {
  if (!f.request.max_regression || !r.newest) return exit_done;
  if (r.newest->regression) return *r.newest->regression ? exit_regression : exit_done;
  return f.inconclusive == "ok" ? exit_done : exit_inconclusive;
}

Result<Answer> restored(const RunsFlags& flags) {
  const auto request = restore_request(flags);
  if (!request) return wrong_request(request.error());
  auto found = restore_run(*request);
  if (!found) return found.error();
  const auto result = std::make_shared<const RestoredRun>(std::move(*found));
  return Answer{.tree = [result] { return restored_tree(*result); },
                .text = [result](const TextOptions&) { return restored_text(*result); }};
}

Result<Answer> answer(const RunsFlags& flags, const Progress& progress) {
  if (!flags.restore.empty()) return restored(flags);
  return answer_to(runs_request(flags), runs, progress, runs_tree, runs_text, {},
                   [&](const RunsResult& r) { return exit_code(r, flags); });
}

VerbRun declare_runs(CLI::App& app) { return declare_answering<RunsFlags>(app, answer); }

}  // namespace

extern const Verb runs_verb{"runs",
                            "Keep past runs in a file, and say from which one on steps changed",
                            "Compare", "how-to/keep-a-history.md", declare_runs};

}  // namespace stepscope
