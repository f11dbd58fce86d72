// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: its flags, the request that they make, and where its result goes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/verbs/analyze/explanation_views.h"
#include "stepscope/verbs/analyze/whatif.h"
#include "stepscope/verbs/analyze/whatif_views.h"
#include "stepscope/verbs/inputs/launched.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {

namespace {

struct WhatIfFlags {
  TracesFlags traces;
  std::vector<std::string> changes;  // as given
  std::string machine;
  OutputPaths out;
  bool list = false;
};

// The syntaxes of --change, for its description.
std::string syntaxes() {
  std::string names;
  for (const ScenarioHelp& s : scenario_help()) names += (names.empty() ? "" : ", ") + s.syntax;
  return names;
}

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
  declare_json(app, f.out.json);
  declare_machine(app, f.machine,
                  "Machine whose links tell the time of message sizes that the traces do not have",
                  "Machine");
  mark_common(app, {"--change", "--list", "--steps", "--ranks", "--step-annotation", "--json",
                    "--machine"});
  app.footer(
      "stepscope whatif examples/train_tiny/traces/ddp --change bandwidth:2 --change data_free@1");
}

// As understood. The errors say what is wrong and what to write.
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

Result<Answer> answered(const WhatIfRequest& request, const Progress& progress) {
  auto found = whatif(request, progress);
  if (!found) return found.error();
  return whatif_answer(std::move(*found));
}

int run(const WhatIfFlags& flags) {
  if (flags.list && (!flags.out.json.empty() || !flags.traces.request.inputs.empty()))
    return refused({.what = "--list reads no input and writes no JSON", .hint = "leave them out"});
  if (flags.list) return list_scenarios();
  const bool silent = is_silent();
  auto request = whatif_request(flags);
  if (!request) return silent ? exit_done : refused(request.error());
  const auto crew = join_launched(request->traces);
  if (!crew) return refused(crew.error());
  if (crew->lent) return exit_done;
  // Another process than the first has no files to write.
  const int code = run_command(silent ? OutputPaths{} : flags.out, [&](const Progress& progress) {
    return answered(*request, progress);
  });
  return silent ? exit_done : code;
}

Result<Answer> answer(const WhatIfFlags& flags, const Progress& progress) {
  const auto request = whatif_request(flags);
  if (!request) return wrong_request(request.error());
  return answered(*request, progress);
}

VerbRun declare_whatif(CLI::App& app) {
  const auto flags = std::make_shared<WhatIfFlags>();
  declare(app, *flags);
  return {.command = [flags] { return run(*flags); },
          .answer = [flags](const Progress& progress) { return answer(*flags, progress); }};
}

}  // namespace

extern const Verb whatif_verb{"whatif",
                              "Replay recorded steps with a change, to see what it would buy",
                              "Understand a run", "reference/changes.md", declare_whatif};

}  // namespace stepscope
