// SPDX-License-Identifier: Apache-2.0
// `stepscope sweep`: flags to request, result to outputs.
#include "stepscope/pipeline/sweep.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/csv/csv_tables.h"
#include "stepscope/report/json/sweep_json.h"
#include "stepscope/report/terminal/sweep_text.h"

namespace stepscope {
namespace {

struct SweepFlags {
  std::string vary;
  std::vector<std::string> command;
  std::size_t launches = 2;
  double timeout = 0;
  std::string keep;
  std::string unit = "ms";
  std::string step_annotation;
  std::optional<std::size_t> warm_up;
  double alpha = 0.05;
  double floor = 1;  // percent
  std::string json;
  std::string csv;
};

void declare(CLI::App& app, SweepFlags& f) {
  app.add_option("--vary", f.vary, "NAME=V1,V2,…: {NAME} in the command becomes each value")
      ->required();
  app.add_option("CMD", f.command,
                 "behind --: the program and its arguments; it writes its step times to {out}, or "
                 "prints lines with step_time_ms=…");
  app.add_option("--launches", f.launches, "of each value, in turn")->check(CLI::Range(1, 1000));
  app.add_option("--timeout", f.timeout, "seconds that a launch may take")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--keep", f.keep, "directory where what the launches wrote stays");
  app.add_option("--unit", f.unit, "of lists whose header names none")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  app.add_option("--step-annotation", f.step_annotation,
                 "what stands before '#' in the steps of traces");
  app.add_option("--warm-up", f.warm_up, "steps of each launch to leave out (default: found)");
  app.add_option("--alpha", f.alpha, "share of the values called slower that may be so by chance")
      ->check(CLI::Range(0.0001, 0.5));
  app.add_option("--floor", f.floor, "percent below which values tie")
      ->check(CLI::Range(0.0, 50.0));
  app.add_option("--json", f.json, "write the result to this file (- = standard output)");
  app.add_option("--csv", f.csv, "write the values to this directory");
  app.footer(
      "Example: stepscope sweep --vary bucket=1MB,5MB,25MB -- stepscope train --bucket "
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
                 .limits = {.launches = f.launches, .keep = f.keep},
                 .reading = {.unit = *time_unit(f.unit), .step_annotation = f.step_annotation},
                 .launching = show_launch};
  for (std::string_view rest = std::string_view(f.vary).substr(equals + 1);;) {
    const std::size_t comma = rest.find(',');
    r.values.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (f.timeout > 0) r.limits.seconds = f.timeout;
  r.options.ratio.alpha = f.alpha;
  r.options.ratio.floor = f.floor / 100;
  r.options.warm_up = f.warm_up;
  return r;
}

int answer(const SweepFlags& f) {
  const auto request = request_of(f);
  if (!request) return refused(request.error());
  Failures failures;
  const auto result = sweep(*request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.json != "-")
    print_text(sweep_text(*result, {.width = terminal_width(), .colour = wants_colour()}));
  const Json tree = sweep_tree(*result);
  write_json_text(f.json, json_text(tree), failures);
  if (!f.csv.empty()) write_tables(f.csv, sweep_csv(tree), failures);
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
