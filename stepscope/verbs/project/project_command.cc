// SPDX-License-Identifier: Apache-2.0
// `stepscope project`: its flags, the request that they make, and where its result goes.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/verbs/inputs/plan_source.h"
#include "stepscope/verbs/inputs/traces_flags.h"
#include "stepscope/verbs/plan/plan_against.h"
#include "stepscope/verbs/project/project.h"
#include "stepscope/verbs/project/project_views.h"

namespace stepscope {

namespace {

struct ProjectFlags {
  TracesFlags traces;
  PlanSource source;
  std::string recorded;  // as given
  std::string recorded_machine;
  bool brief = false;
  OutputPaths out;
};

void declare(CLI::App& app, ProjectFlags& f) {
  app.description(
      "Predicts the step of the recorded job on other GPUs or under another plan. Kernel, host and "
      "launch times are the traces' own; what the plan changes comes from links and the model.");
  declare_trace_inputs(app, f.traces);
  as_count(app.add_option("--gpus", f.source.gpus,
                          "Devices of the job asked about. Without --global-batch each "
                          "data-parallel rank has as many sequences as in the traces."),
           1, most_devices)
      ->group("Machine");
  as_count(app.add_option("--nodes", f.source.nodes, "Nodes, instead of --gpus"), 1, most_devices)
      ->group("Machine");
  declare_gpus_per_node(app, f.source);
  declare_machine(
      app, f.source.machine,
      "Machine of the job asked about, for its links and the model's expected times: of "
      "the catalogue or a file",
      "Machine");
  app.add_option("--recorded-machine", f.recorded_machine,
                 "Machine of the traces, if it is another one")
      ->type_name("MACHINE|FILE")
      ->group("Machine");
  app.add_option("--model", f.source.model,
                 "Model of the run: a name, a file of ours or a Hugging Face config.json. Needed "
                 "for changes of the kernels.")
      ->type_name("MODEL|FILE")
      ->group("Model");
  app.add_option("--recorded", f.recorded,
                 "What the traces do not tell of the recorded plan: "
                 "tp=2,pp=4,global-batch=64,seq=4096,zero=1")
      ->type_name("NAME=VALUE,...")
      ->group("Recorded plan");
  declare_fields(app, f.source);
  // What is not given stays as in the recording.
  for (const PlanField& field : plan_fields())
    app.get_option("--" + std::string(field.name))->default_str("");
  declare_json(app, f.out.json);
  app.add_flag("--brief", f.brief, "The JSON of the answer and its parts alone; needs --json")
      ->group("Outputs");
  declare_csv(app, f.out.csv);
  mark_common(app, {"--gpus", "--machine", "--model", "--recorded", "--tp", "--pp", "--zero",
                    "--global-batch", "--json"});
  app.footer(
      "stepscope project traces --gpus 256 --machine h100_sxm_80gb\n"
      "stepscope project traces --model llama-3.1-8b --machine h100_sxm_80gb --recorded "
      "global-batch=16,seq=8192 --gpus 64 --micro-batch 2");
}

// As understood. The errors say what is wrong and what to write.
Result<ProjectRequest> project_request(const ProjectFlags& f) {
  const auto traces = traces_request(f.traces);
  if (!traces) return traces.error();
  ProjectRequest request{.traces = *traces,
                         .model = f.source.model,
                         .machine = f.source.machine,
                         .recorded_machine = f.recorded_machine,
                         .plan = settings_of(f.source)};
  if (!f.recorded.empty()) {
    auto settings = parse_settings(f.recorded);
    if (!settings) {
      Error error = settings.error();
      error.what = "--recorded: " + error.what;
      error.hint = "write tp=2,pp=4,global-batch=64";
      return error;
    }
    request.recorded = std::move(*settings);
  }
  if (f.brief && f.out.json.empty())
    return Error{.what = "--brief without --json", .hint = "add --json -"};
  if (request.plan.gpus == 0 && request.plan.nodes == 0 && request.plan.fields.empty() &&
      request.recorded_machine.empty())
    return Error{.what = request.machine.empty()
                             ? "nothing differs from the recorded job"
                             : "nothing differs from the recorded job: --machine alone is also the "
                               "machine of the traces",
                 .hint =
                     "give --gpus N, a field of the plan such as --tp N, or for other GPUs "
                     "--machine NEW --recorded-machine OLD --model NAME"};
  return request;
}

Result<Answer> answer(const ProjectFlags& flags, const Progress& progress) {
  const auto request = project_request(flags);
  if (!request) return wrong_request(request.error());
  auto found = project(*request, progress);
  if (!found) return found.error();
  const auto result = std::make_shared<const ProjectResult>(std::move(*found));
  return Answer{
      .tree = [result] { return project_tree(*result); },
      .brief = [result] { return project_brief_tree(*result); },
      .text = [result](const TextOptions& options) { return project_text(*result, options); },
      .tables = project_tables,
      .failures = result->failures};
}

VerbRun declare_project(CLI::App& app) { return declare_answering<ProjectFlags>(app, answer); }

}  // namespace

extern const Verb project_verb{"project",
                               "Project the recorded steps to other GPUs or another plan",
                               "Plan ahead", "how-to/project-a-run.md", declare_project};

}  // namespace stepscope
