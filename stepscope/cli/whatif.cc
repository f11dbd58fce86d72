// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: flags to request, result to outputs.
#include "stepscope/pipeline/whatif.h"

#include <memory>

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
  declare_traces(app, flags->traces);
  app.add_option("--json", flags->json,
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
  app.add_option("--machine", flags->machine,
                 "A machine of the catalogue or a file (as data/machines/*.json), whose links say "
                 "what messages of sizes take that the traces do not tell of")
      ->type_name("NAME|FILE");
  app.footer("Example: stepscope whatif traces/ --change bandwidth:2 --change rank_as_peers@3");
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
