// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: the recorded steps replayed with something changed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "stepscope/cli/analyze_flags.h"
#include "stepscope/cli/analyze_inputs.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/explanation_report.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_standing = 20;

struct WhatIfFlags {
  AnalyzeFlags traces;
  std::vector<std::string> changes;  // as given
};

std::string text_of(const Explanation& e, std::span<const WhatIf> scenarios,
                    std::span<const std::string> warnings, std::size_t width) {
  std::string out = fmt::format("A step of the replay takes {} ({} off the measured one).\n\n",
                                format_time(e.step), format_percent(std::abs(e.replay_error)));
  out += scenarios_text(e, scenarios, scenarios.size(), width);
  for (const std::string& w : warnings) out += "\nnote: " + wrapped(w, width - 6);
  return out;
}

int answer(const WhatIfFlags& flags, const JobResult& job, std::span<const InputRow> inputs,
           bool asked, Failures& failures) {
  if (!job.explanation) {
    failures.add({.what = "the traces hold no step to replay",
                  .hint = "record whole steps, with host rows and kernels"});
    return exit_failed;
  }
  const Explanation& e = *job.explanation;
  std::span<const WhatIf> scenarios = asked ? e.asked : e.what_ifs;
  if (!asked) scenarios = scenarios.first(std::min(scenarios.size(), most_standing));
  std::vector<std::string> warnings = replay_warnings(e);
  for (std::string& note : scenario_notes(scenarios)) warnings.push_back(std::move(note));
  for (const WhatIf& w : scenarios)
    if (!w.refused.empty())
      failures.add({.what = name_of(w.scenario) + " is not answered: " + w.refused});
  if (!flags.traces.json.empty()) {
    Json json = {{"schema", "stepscope.whatif/1"},
                 {"version", STEPSCOPE_VERSION},
                 {"inputs", inputs_json(inputs)}};
    json.update(replay_json(e));
    json["scenarios"] = scenarios_json(e, asked ? e.asked : e.what_ifs);
    json["warnings"] = warnings;
    write_json_text(flags.traces.json, json_text(json), failures);
  }
  if (flags.traces.json != "-")
    print_text(text_of(e, scenarios, warnings, static_cast<std::size_t>(terminal_width())));
  flush_output(failures);
  if (failures.interrupted()) return exit_interrupted;
  return failures.any() || e.refused ? exit_failed : exit_done;
}

int what_if(WhatIfFlags& flags) {
  if (const auto resolved = resolve(flags.traces); !resolved) return refused(resolved.error());
  const StopFlag& stop = stop_on_signals();
  std::vector<Scenario> scenarios;
  for (const std::string& text : flags.changes) {
    auto scenario = parse_scenario(text);
    if (!scenario) return refused(scenario.error());
    scenarios.push_back(*scenario);
  }
  Failures failures;
  double seconds = 0;
  Run run = read_inputs(flags.traces, stop, failures, seconds);
  if (stop.requested()) return exit_interrupted;
  const std::vector<RankInput> ranks = wanted_ranks(flags.traces, run, failures);
  if (ranks.empty()) return exit_failed;
  JobOptions options = job_options(flags.traces, stop, run.world_size);
  options.scenarios = scenarios;
  const JobResult job = analyze_job(ranks, options);
  if (job.interrupted) return exit_interrupted;
  check_steps(flags.traces, job, failures);
  return answer(flags, job, input_rows(run), !scenarios.empty(), failures);
}

}  // namespace

std::function<int()> declare_whatif(CLI::App& app) {
  auto flags = std::make_shared<WhatIfFlags>();
  declare_traces(app, flags->traces);
  app.add_option("--json", flags->traces.json,
                 "Write the answers as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option(
         "--change", flags->changes,
         "What to change, once for each replay: no_waiting, communication_free[:COLLECTIVE], "
         "bandwidth[:COLLECTIVE]:K, latency[:COLLECTIVE]:K, compute[:CLASS]:K, host:K, "
         "host_free, data_free, allocator_free, collector_free, profiler_free, sync_free, "
         "copies_free, device_alone, rank_as_peers@RANK, "
         "stages_balanced, ranks_balanced, bucket:SIZE (gradients in messages of 25MB, say), "
         "prefetch:N (units ahead); K times as fast; @RANK behind any but bucket for that rank "
         "alone. Without any: all that analyze asks")
      ->type_name("CHANGE");
  app.add_option("--machine", flags->traces.machine_file,
                 "A machine of the catalogue or a file (as data/machines/*.json), whose links say "
                 "what messages of sizes take that the traces do not tell of")
      ->type_name("NAME|FILE");
  app.footer("Example: stepscope whatif traces/ --change bandwidth:2 --change rank_as_peers@3");
  return [flags] { return what_if(*flags); };
}

}  // namespace stepscope
