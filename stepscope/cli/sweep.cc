// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep`: flags to request, result to outputs.
#include "stepscope/pipeline/sweep.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/measuring_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/sweep_json.h"
#include "stepscope/report/terminal/sweep_text.h"

namespace stepscope {
namespace {

struct SweepFlags {
  std::string vary;
  std::vector<std::string> command;
  LaunchFlags launching{.launches = 2};
  std::string unit = "ms";
  std::string step_annotation;
  std::string kernel_rules;
  StatisticsFlags statistics;
  OutputPaths out;
};

void declare(CLI::App& app, SweepFlags& f) {
  app.description(
      "Runs a command at several values of a setting and says which value is the fastest, and "
      "which "
      "tie with it.");
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
Result<SweepRequest> request_of(const SweepFlags& f) {
  const std::size_t equals = f.vary.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{.what = "--vary " + f.vary + " names no values",
                 .hint = "write --vary bucket=1MB,5MB and {bucket} in the command"};
  SweepRequest r{.name = f.vary.substr(0, equals),
                 .command = f.command,
                 .limits = limits_of(f.launching),
                 .reading = {.unit = *time_unit(f.unit),
                             .step_annotation = f.step_annotation,
                             .kernel_rules = f.kernel_rules},
                 .launching = show_launch};
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

int answer(const SweepFlags& f) {
  const auto request = request_of(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = sweep(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(sweep_text(*result, text_options(f.out.html)));
  const Json tree = sweep_tree(*result);
  if (f.out.has_tree()) write_tree(f.out, tree, failures);
  if (!f.out.csv.empty()) write_tables(f.out.csv, sweep_csv(tree), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_sweep(CLI::App& app) {
  auto flags = std::make_shared<SweepFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
