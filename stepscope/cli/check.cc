// SPDX-License-Identifier: Apache-2.0
// `stepscope check`: flags to request, result to outputs.
#include "stepscope/pipeline/check.h"

#include <fmt/format.h>

#include <memory>

#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/measuring_flags.h"
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
  OutputPaths out;
};

void declare(CLI::App& app, CheckFlags& f) {
  app.description(
      "Says what a few steps, a training log or a list of step times tell already, how sure that "
      "is, and what to record next.");
  app.add_option("INPUT", f.request.traces.inputs,
                 "Traces of one run, a training log, the JSON of stepscope train, or a list of "
                 "step times")
      ->required()
      ->type_name("PATH");
  declare_unit(app, f.unit);
  declare_step_annotation(app, f.request.traces.step_annotation, "Inputs");
  declare_kernel_rules(app, f.request.traces.kernel_rules, "Inputs");
  declare_job(app, f.request.job);
  app.add_flag(
         "--list", f.request.list,
         "Also goes through the checklists of a slow run (low MFU, communication, memory, the "
         "timeline, stragglers): each check with its evidence, or what to record for it")
      ->group("Output");
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  mark_common(app, {"--json", "--html", "--list", "--model", "--global-batch", "--seq", "--machine",
                    "--unit"});
  app.footer("stepscope check examples/train_tiny/traces/ddp --html check.html");
}

int answer(CheckFlags& f) {
  f.request.unit = *time_unit(f.unit);
  Failures failures;
  const auto result = check(f.request, progress_of(failures));
  if (!result) return ended(result.error(), failures);
  if (f.out.prints()) print_text(check_text(*result, text_options(f.out.html)));
  if (f.out.has_tree()) write_tree(f.out, check_tree(*result), failures);
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
