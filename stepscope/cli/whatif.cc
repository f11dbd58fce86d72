// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: flags to request, result to outputs.
#include "stepscope/pipeline/whatif.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "stepscope/cli/flags/whatif_flags.h"
#include "stepscope/cli/launched.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/json/whatif_json.h"
#include "stepscope/report/terminal/explanation_text.h"
#include "stepscope/report/terminal/text_table.h"

namespace stepscope {
namespace {

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
  const bool silent = is_silent();
  auto request = whatif_request(flags);
  if (!request) return silent ? exit_done : refused(request.error());
  const auto crew = join_launched(request->traces);
  if (!crew) return refused(crew.error());
  if (crew->lent) return exit_done;
  Failures failures;
  const auto result = whatif(*request, progress_of(failures));
  if (silent) return exit_done;
  if (!result) return ended(result.error(), failures);
  write_json_text(flags.json, json_text(whatif_tree(*result)), failures);
  if (flags.json != "-")
    print_text(whatif_text(*result, static_cast<std::size_t>(terminal_width())));
  flush_output(failures);
  if (failures.interrupted()) return exit_interrupted;
  const bool answered = result->asked || !result->explanation.refused;
  return failures.any() || !answered ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_whatif(CLI::App& app) {
  auto flags = std::make_shared<WhatIfFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
