// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/plan_source.h"

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {
namespace {

// The value in a plan that nothing has set, as its flag is written; empty without a value.
std::string default_text(const PlanField& field) {
  // What the model, the other fields or nothing gives.
  constexpr std::array<std::string_view, 3> without = {"seq", "global-batch", "dp"};
  if (std::ranges::find(without, field.name) != without.end()) return {};
  std::string text = plan_field_text(field, {});
  const bool none = text == "false" || (text == "0" && field.name != "zero");
  return none ? std::string() : text;
}

}  // namespace

void declare_model_and_machine(CLI::App& app, PlanSource& s) {
  app.add_option("MODEL", s.model,
                 "Model of the catalogue, a model file of ours or a Hugging Face config.json")
      ->type_name("MODEL|FILE");
  declare_machine(app, s.machine,
                  "Machine of the catalogue (h100_sxm_80gb, \"NVIDIA H100 80GB HBM3\") or a file",
                  "Machine");
}

void declare_plan_file(CLI::App& app, PlanSource& s) {
  app.add_option("--plan", s.plan_file, "Plan as a JSON file. Flags override it.")
      ->type_name("FILE")
      ->group("Plan file");
}

void declare_gpus_per_node(CLI::App& app, PlanSource& s) {
  as_count(app.add_option("--gpus-per-node", s.gpus_per_node, "Devices that share the fast links"),
           1, most_devices)
      ->group("Machine");
}

void declare_plan_source(CLI::App& app, PlanSource& s) {
  declare_model_and_machine(app, s);
  as_count(app.add_option("--gpus", s.gpus, "Devices in all"), 1, most_devices)->group("Machine");
  as_count(app.add_option("--nodes", s.nodes, "Nodes, instead of --gpus"), 1, most_devices)
      ->group("Machine");
  declare_gpus_per_node(app, s);
  declare_plan_file(app, s);
  app.add_option("--ds-config", s.ds_config, "DeepSpeed ds_config.json as the plan")
      ->type_name("FILE")
      ->group("Plan file");
  declare_fields(app, s);
}

void declare_fields(CLI::App& app, PlanSource& s, std::span<const std::string_view> without) {
  const auto fields = plan_fields();
  s.values.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const PlanField& field = fields[i];
    if (std::ranges::find(without, field.name) != without.end()) continue;
    const std::string flag = "--" + std::string(field.name);
    CLI::Option* option = field.value.empty()
                              ? app.add_flag(flag + "{true}", s.values[i], std::string(field.what))
                              : app.add_option(flag, s.values[i], std::string(field.what))
                                    ->type_name(std::string(field.value))
                                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    option->default_str(default_text(field))->group(std::string(field.group));
  }
}

PlanSettings settings_of(const PlanSource& source) {
  PlanSettings settings{.plan_file = source.plan_file,
                        .ds_config = source.ds_config,
                        .gpus = source.gpus,
                        .nodes = source.nodes,
                        .gpus_per_node = source.gpus_per_node};
  const auto fields = plan_fields();
  for (std::size_t i = 0; i < fields.size() && i < source.values.size(); ++i)
    if (!source.values[i].empty())
      settings.fields.push_back({std::string(fields[i].name), source.values[i]});
  return settings;
}

}  // namespace stepscope
