// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: flags to request, result to outputs.
#include "stepscope/pipeline/whatif.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/report/json/whatif_json.h"
#include "stepscope/report/terminal/explanation_text.h"
#include "stepscope/report/terminal/text_table.h"

namespace stepscope {
namespace {

struct WhatIfFlags {
  TracesFlags traces;
  std::vector<std::string> changes;  // as given
  std::string machine;
  std::string json;
  bool list = false;
};

// The syntaxes of --change, for its description.
std::string syntaxes() {
  std::string names;
  for (const ScenarioHelp& s : scenario_help()) names += (names.empty() ? "" : ", ") + s.syntax;
  return names;
}

int list_scenarios() {
  std::string out;
  for (const ScenarioHelp& s : scenario_help())
    out += fmt::format("{}\n    {}. Example: {}\n", s.syntax, s.meaning, s.example);
  const auto words = [&](const char* what, std::span<const std::string_view> names) {
    const std::string line = fmt::format("{} is one of {}.", what, fmt::join(names, ", "));
    out += wrapped(line, static_cast<std::size_t>(terminal_width()));
  };
  out += '\n';
  words("COLLECTIVE", std::span(collective_kind_names).subspan(1));
  words("CLASS", name_class_names);
  out += "FACTOR is a number above 0: 2 is twice as fast. @RANK: the work of that rank alone.\n";
  print_text(out);
  return exit_done;
}

int answer(const WhatIfFlags& flags) {
  if (flags.list && (!flags.json.empty() || !flags.traces.request.inputs.empty()))
    return refused({.what = "--list reads no input and writes no JSON", .hint = "leave them out"});
  if (flags.list) return list_scenarios();
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
  app.add_option("--change", flags->changes,
                 fmt::format("Change to replay: {}. --list explains them. Without --change all "
                             "changes that analyze asks for are replayed.",
                             syntaxes()))
      ->type_name("CHANGE")
      ->group("Changes");
  app.add_flag_callback(
         "--list",
         [flags, &app] {
           flags->list = true;
           app.get_option("INPUT")->required(false);
         },
         "List the changes with their meaning and an example; needs no INPUT")
      ->group("Changes");
  declare_traces(app, flags->traces);
  declare_json(app, flags->json);
  declare_machine(app, flags->machine,
                  "Machine whose links tell the time of message sizes that the traces do not have",
                  "Machine");
  mark_common(app, {"--change", "--list", "--steps", "--ranks", "--step-annotation", "--json",
                    "--machine"});
  app.footer(
      "stepscope whatif examples/train_tiny/traces/ddp --change bandwidth:2 --change data_free@1");
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
