// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/verbs/compare/compare_views.h"
#include "stepscope/verbs/compare/sweep.h"
#include "stepscope/verbs/inputs/measuring_flags.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {

namespace {

struct SweepFlags {
  std::string vary;
  std::vector<std::string> command;
  LaunchFlags launching{.launches = 2};
  std::string unit{};
  std::string log_pattern;
  std::string step_annotation;
  std::string kernel_rules;
  StatisticsFlags statistics;
  OutputPaths out;
};

void declare(CLI::App& app, SweepFlags& f) {
  app.description(
      "Runs a command at several values of a setting and says which value is the fastest, or which "
      "cannot be told apart from the smallest median.");
  app.add_option("CMD", f.command,
                 "Program and its arguments, behind --. It writes its step times to {out}, or "
                 "prints lines with step_time_ms=NUMBER.")
      ->type_name("PATH");
  app.add_option("--vary", f.vary,
                 "Setting and its values. {NAME} in the command becomes each value.")
      ->required()
      ->type_name("NAME=V1,V2,...")
      ->group("Launches");
  declare_launches(app, f.launching, "Launches of each value, in turn");
  declare_unit(app, f.unit);
  declare_log_pattern(app, f.log_pattern);
  declare_step_annotation(app, f.step_annotation, "Inputs");
  declare_kernel_rules(app, f.kernel_rules, "Inputs");
  declare_statistics(app, f.statistics);
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  declare_csv(app, f.out.csv);
  mark_common(app, {"--vary", "--launches", "--json", "--html", "--csv"});
  app.footer(
      "stepscope sweep --vary bucket=1MB,5MB,25MB -- stepscope train --bucket "
      "{bucket} --data TEXT --json {out}");
}

// "bucket=1MB,5MB".
// As understood. The errors say what is wrong and what to write.
Result<SweepRequest> sweep_request(const SweepFlags& f) {
  const std::size_t equals = f.vary.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{.what = "--vary " + f.vary + " names no values",
                 .hint = "write --vary bucket=1MB,5MB and {bucket} in the command"};
  SweepRequest r{.name = f.vary.substr(0, equals),
                 .command = f.command,
                 .limits = limits_of(f.launching),
                 .reading = {.steps = reading_of(f.unit, f.log_pattern),
                             .step_annotation = f.step_annotation,
                             .kernel_rules = f.kernel_rules}};
  for (std::string_view rest = std::string_view(f.vary).substr(equals + 1);;) {
    const std::size_t comma = rest.find(',');
    r.values.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  r.options.ratio.alpha = f.statistics.alpha;
  r.options.ratio.floor = f.statistics.floor;
  r.options.warm_up = f.statistics.warm_up;
  return r;
}

Result<Answer> answer(const SweepFlags& flags, const Progress& progress) {
  return answer_to(sweep_request(flags), sweep, progress, sweep_tree, sweep_text,
                   {.tables = sweep_tables, .page = page_of_tree});
}

VerbRun declare_sweep(CLI::App& app) { return declare_answering<SweepFlags>(app, answer); }

}  // namespace

extern const Verb sweep_verb{"sweep", "Run a command at several values of a setting and rank them",
                             "Compare", "how-to/compare-two-runs.md", declare_sweep};

}  // namespace stepscope
