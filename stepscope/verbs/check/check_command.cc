// SPDX-License-Identifier: Apache-2.0
// `stepscope check`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/page/html.h"
#include "stepscope/face/terminal.h"
#include "stepscope/verbs/check/check.h"
#include "stepscope/verbs/check/check_views.h"
#include "stepscope/verbs/inputs/measuring_flags.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {

namespace {

struct CheckFlags {
  CheckRequest request;
  std::string unit{};
  std::string recompute;
  OutputPaths out;
};

void declare(CLI::App& app, CheckFlags& f) {
  app.description(
      "Says what a few steps, a training log or a list of step times tell already, how sure that "
      "is, and what to record next.");
  app.add_option("INPUT", f.request.traces.inputs,
                 "Traces of one run, a training log, the JSON of stepscope train, or step times: "
                 "one list, or one file of each rank; logs of nvidia-smi or DCGM with them")
      ->required()
      ->type_name("PATH");
  declare_unit(app, f.unit);
  declare_log_pattern(app, f.request.reading.pattern);
  declare_step_annotation(app, f.request.traces.step_annotation, "Inputs");
  declare_kernel_rules(app, f.request.traces.kernel_rules, "Inputs");
  declare_job(app, f.request.job);
  as_count(app.add_option("--gpus", f.request.job.devices,
                          "Devices of the run, for MFU, where the input does not name all of them"),
           1)
      ->group("Model");
  as_choice(app.add_option("--recompute", f.recompute,
                           "What backward computes again, for HFU, where the log does not say it"),
            {"none", "selective", "full"})
      ->group("Model");
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

// As understood. The errors say what is wrong and what to write.
Result<CheckRequest> check_request(const CheckFlags& flags) {
  CheckRequest request = flags.request;
  request.reading.unit = time_unit(flags.unit);
  if (flags.recompute == "none") request.recompute = Recompute::none;
  if (flags.recompute == "selective") request.recompute = Recompute::selective;
  if (flags.recompute == "full") request.recompute = Recompute::full;
  return request;
}

Result<Answer> answer(const CheckFlags& flags, const Progress& progress) {
  return answer_to(check_request(flags), check, progress, check_tree, check_text,
                   {.page = page_of_tree});
}

VerbRun declare_check(CLI::App& app) { return declare_answering<CheckFlags>(app, answer); }

}  // namespace

extern const Verb check_verb{"check", "Say what a few steps or a log tell, and what to record next",
                             "Understand a run", "how-to/compare-two-runs.md", declare_check};

}  // namespace stepscope
