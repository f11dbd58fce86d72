// SPDX-License-Identifier: Apache-2.0
// `stepscope check`: flags to request, result to outputs.
#include "stepscope/pipeline/check.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/traces_flags.h"
#include "stepscope/report/json/check_json.h"
#include "stepscope/report/terminal/check_text.h"

namespace stepscope {
namespace {

struct CheckFlags {
  CheckRequest request;
  std::string unit = "ms";
  std::string json;
};

void declare(CLI::App& app, CheckFlags& f) {
  app.add_option(
         "INPUT", f.request.traces.inputs,
         "traces of one run, a training log, the JSON of stepscope train, or a list of step "
         "times")
      ->required();
  app.add_option("--unit", f.unit, "of lists whose header names none")
      ->check(CLI::IsMember({"ns", "us", "ms", "s"}));
  app.add_option("--step-annotation", f.request.traces.step_annotation,
                 "what stands before '#' in the steps of traces");
  declare_job(app, f.request.job);
  app.add_option("--json", f.json, "write the result to this file (- = standard output)");
  app.footer("Example: stepscope check examples/train_tiny/traces/ddp");
}

int answer(CheckFlags& f) {
  f.request.unit = *time_unit(f.unit);
  Failures failures;
  const auto result = check(f.request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.json != "-")
    print_text(check_text(*result, {.width = terminal_width(), .colour = wants_colour()}));
  write_json_text(f.json, json_text(check_tree(*result)), failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_check(CLI::App& app) {
  auto flags = std::make_shared<CheckFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
