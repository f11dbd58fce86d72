// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/live_flags.h"

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"

namespace stepscope {

void declare(CLI::App& app, LiveFlags& f) {
  app.description(
      "Follows a running job by the files that it writes: step times, late ranks, waiting apart "
      "from transfer, silent ranks, stuck collectives.");
  app.add_option("SOURCES", f.request.sources,
                 "Directories or files that the job writes to: NCCL Inspector's JSON lines, files "
                 "of stepscope's NCCL plugin, training logs, torchtitan's structured logs, the "
                 "file of stepscope train --metrics (FILE.prom), what ncclras -f json wrote "
                 "(FILE.ras.json); or HOST:PORT of the RAS service of an NCCL job")
      ->required()
      ->type_name("PATH");
  app.add_flag("--once", f.request.once, "Read what is there, show it, and end")->group("Watching");
  declare_json(app, f.json);
  as_seconds(app.add_option("--interval", f.request.interval_s, "Time between two readings"), 0.05,
             3600)
      ->group("Watching");
  as_seconds(app.add_option("--silent", f.request.limits.silent_s,
                            "Time without a line after which a rank is silent"),
             0.1, 86400)
      ->group("Watching");
  as_seconds(
      app.add_option("--stuck", f.request.limits.stuck_s,
                     "Time after which a collective that only some ranks have left is stuck"),
      0.1, 86400)
      ->group("Watching");
  as_seconds(app.add_option("--for", f.request.for_s, "End after this time; 0s: never"), 0, 1e9)
      ->group("Watching");
  app.add_option("--on", f.on,
                 "Run this command once per event: slowdown (late, slower, longer_transfers), "
                 "silence (silent, stands_still), stuck (also unresponsive), restarted, or any; "
                 "STEPSCOPE_EVENT, STEPSCOPE_SENTENCE, STEPSCOPE_RANKS, STEPSCOPE_HOST and "
                 "STEPSCOPE_STEP tell it which")
      ->type_name("EVENT CMD")
      ->group("Watching");
  app.add_option("--openmetrics", f.open_metrics,
                 "Keep this file, which a node exporter may read (its textfile collector), up to "
                 "date")
      ->type_name("FILE")
      ->group("Outputs");
  app.add_option("--serve", f.serve,
                 "Serve /metrics, /state.json and a page on this port of localhost, or of the "
                 "address before it")
      ->type_name("[ADDRESS:]PORT")
      ->group("Outputs");
  app.add_option("--token-file", f.token_file,
                 "The first line of this file is asked of clients of --serve (Authorization: "
                 "Bearer, or ?token=); required for addresses other than 127.0.0.1")
      ->type_name("FILE")
      ->group("Outputs");
  app.add_flag("--plain", f.plain, "Lines instead of a view that is drawn over")->group("Outputs");
  mark_common(app, {"--once", "--json", "--on", "--openmetrics", "--serve"});
  app.footer("stepscope live /shared/job42 --on slowdown 'echo \"$STEPSCOPE_SENTENCE\" >> alerts'");
}

}  // namespace stepscope
