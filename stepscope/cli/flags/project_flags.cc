// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/flags/project_flags.h"

#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/pipeline/plan_against.h"

namespace stepscope {

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
      request.machine.empty())
    return Error{.what = "nothing differs from the recorded job",
                 .hint = "give --gpus N, or a field of the plan such as --tp N"};
  return request;
}

}  // namespace stepscope
