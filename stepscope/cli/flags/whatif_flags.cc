// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/whatif_flags.h"

#include <fmt/format.h>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/cli/help/flag_view.h"

namespace stepscope {
namespace {

// The syntaxes of --change, for its description.
std::string syntaxes() {
  std::string names;
  for (const ScenarioHelp& s : scenario_help()) names += (names.empty() ? "" : ", ") + s.syntax;
  return names;
}

}  // namespace

void declare(CLI::App& app, WhatIfFlags& f) {
  app.description(
      "Replays the recorded steps with something changed: without a wait, with faster links, with "
      "other buckets. Says what a step would take then.");
  app.add_option("--change", f.changes,
                 fmt::format("Change to replay: {}. --list explains them. Without --change all "
                             "changes that analyze asks for are replayed.",
                             syntaxes()))
      ->type_name("CHANGE")
      ->group("Changes");
  app.add_flag_callback(
         "--list",
         [&f, &app] {
           f.list = true;
           app.get_option("INPUT")->required(false);
         },
         "List the changes with their meaning and an example; needs no INPUT")
      ->group("Changes");
  declare_traces(app, f.traces);
  declare_json(app, f.json);
  declare_machine(app, f.machine,
                  "Machine whose links tell the time of message sizes that the traces do not have",
                  "Machine");
  mark_common(app, {"--change", "--list", "--steps", "--ranks", "--step-annotation", "--json",
                    "--machine"});
  app.footer(
      "stepscope whatif examples/train_tiny/traces/ddp --change bandwidth:2 --change data_free@1");
}

Result<WhatIfRequest> whatif_request(const WhatIfFlags& flags) {
  const auto traces = traces_request(flags.traces);
  if (!traces) return traces.error();
  WhatIfRequest request{.traces = *traces, .machine = flags.machine};
  for (const std::string& text : flags.changes) {
    auto scenario = parse_scenario(text);
    if (!scenario) return scenario.error();
    request.changes.push_back(*scenario);
  }
  return request;
}

}  // namespace stepscope
