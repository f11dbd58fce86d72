// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/check_flags.h"

#include "stepscope/cli/flags/measuring_flags.h"
#include "stepscope/cli/flags/traces_flags.h"
#include "stepscope/cli/help/flag_view.h"

namespace stepscope {

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

Result<CheckRequest> check_request(const CheckFlags& flags) {
  CheckRequest request = flags.request;
  request.unit = *time_unit(flags.unit);
  return request;
}

}  // namespace stepscope
