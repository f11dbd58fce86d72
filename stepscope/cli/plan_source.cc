// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/plan_source.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "stepscope/cost/plan/plan_fields.h"

namespace stepscope {
namespace {

constexpr std::int64_t most_devices = 10'000'000;

CLI::Validator device_count() {
  return CLI::Validator(
      [](const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fits = end != text.c_str() && *end == '\0' && value >= 1 &&
                          value <= most_devices && value == std::floor(value);
        return fits ? std::string() : text + " is no number of devices (1 to 10000000)";
      },
      "N");
}

}  // namespace

void declare_model_and_machine(CLI::App& app, PlanSource& s) {
  app.add_option("MODEL", s.model,
                 "A model of the catalogue, a model file of ours or a Hugging Face config.json");
  app.add_option("--machine", s.machine,
                 "A machine of the catalogue (h100_sxm_80gb, \"NVIDIA H100 80GB HBM3\") or a file")
      ->type_name("NAME|FILE");
}

void declare_plan_source(CLI::App& app, PlanSource& s) {
  declare_model_and_machine(app, s);
  app.add_option("--gpus", s.gpus, "Devices in all")->check(device_count())->type_name("N");
  app.add_option("--nodes", s.nodes, "Nodes, instead of --gpus")
      ->check(device_count())
      ->type_name("N");
  app.add_option("--gpus-per-node", s.gpus_per_node, "Devices that share the fast links")
      ->check(device_count())
      ->type_name("N");
  app.add_option("--plan", s.plan_file, "A plan as JSON; flags override it")->type_name("FILE");
  app.add_option("--ds-config", s.ds_config, "A DeepSpeed ds_config.json as the plan")
      ->type_name("FILE");
  declare_fields(app, s);
}

void declare_fields(CLI::App& app, PlanSource& s, std::span<const std::string_view> names) {
  const auto fields = plan_fields();
  s.values.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!names.empty() && std::ranges::find(names, fields[i].name) == names.end()) continue;
    const std::string flag = "--" + std::string(fields[i].name);
    if (fields[i].value.empty())
      app.add_flag(flag + "{true}", s.values[i], std::string(fields[i].what))->group("Plan");
    else
      app.add_option(flag, s.values[i], std::string(fields[i].what))
          ->type_name(std::string(fields[i].value))
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
          ->group("Plan");
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
