// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: flags to request, result to outputs.
#include "stepscope/pipeline/whatif.h"

#include <memory>

#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/report/json/whatif_json.h"
#include "stepscope/report/terminal/explanation_text.h"

namespace stepscope {
namespace {

struct WhatIfFlags {
  TracesFlags traces;
  std::vector<std::string> changes;  // as given
  std::string machine;
  std::string json;
};

int answer(const WhatIfFlags& flags) {
  const auto traces = traces_request(flags.traces);
  if (!traces) return refused(traces.error());
  WhatIfRequest request{.traces = *traces, .machine = flags.machine};
  for (const std::string& text : flags.changes) {
    auto scenario = parse_scenario(text);
    if (!scenario) return refused(scenario.error());
    request.changes.push_back(*scenario);
  }
  Failures failures;
  const auto result = whatif(request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  write_json_text(flags.json, json_text(whatif_tree(*result)), failures);
  if (flags.json != "-")
    print_text(whatif_text(*result, static_cast<std::size_t>(terminal_width())));
  flush_output(failures);
  if (failures.interrupted()) return exit_interrupted;
  return failures.any() || result->explanation.refused ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_whatif(CLI::App& app) {
  auto flags = std::make_shared<WhatIfFlags>();
  app.description(
      "Replays the recorded steps with something changed: without a wait, with faster links, with "
      "other buckets. Says what a step would take then.");
  app.add_option(
         "--change", flags->changes,
         "Change to replay: no_waiting, communication_free[:COLLECTIVE], "
         "bandwidth[:COLLECTIVE]:K, latency[:COLLECTIVE]:K, compute[:CLASS]:K, host:K, "
         "host_free, data_free, allocator_free, collector_free, profiler_free, sync_free, "
         "copies_free, device_alone, rank_as_peers@RANK, stages_balanced, ranks_balanced, "
         "bucket:SIZE (messages of gradients, as 25MB) or prefetch:N (units ahead). K means K "
         "times as fast. @RANK behind any but bucket means that rank alone. Without --change all "
         "changes that analyze asks for are replayed.")
      ->type_name("CHANGE")
      ->group("Changes");
  declare_traces(app, flags->traces);
  declare_json(app, flags->json);
  declare_machine(app, flags->machine,
                  "Machine whose links tell the time of message sizes that the traces do not have",
                  "Machine");
  mark_common(app, {"--change", "--steps", "--ranks", "--step-annotation", "--json", "--machine"});
  app.footer(
      "stepscope whatif examples/train_tiny/traces/ddp --change bandwidth:2 --change data_free@1");
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
