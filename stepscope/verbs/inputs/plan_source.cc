// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/plan_source.h"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "stepscope/base/byte_size.h"
#include "stepscope/cost/model/dtype.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/verbs/inputs/traces_flags.h"

namespace stepscope {
namespace {

struct FieldGroup {
  const char* name;
  std::vector<std::string_view> fields;
};

// The groups of help; each of plan_fields() is in one.
const std::vector<FieldGroup>& field_groups() {
  static const std::vector<FieldGroup> groups = {
      {"Parallelism",
       {"tp", "tensor-layout", "tp-rows", "tp-columns", "tp-depth", "sequence-parallel",
        "sequence-degree", "cp", "context-exchange", "ep", "expert-tp", "expert-dispatch",
        "expert-load", "narrow-dispatch", "pp", "schedule", "virtual-stages", "stage-layers",
        "dp"}},
      {"Batch",
       {"seq", "images", "image-patches", "micro-batch", "global-batch",
        "reduce-each-micro-batch"}},
      {"Memory",
       {"zero", "shard-group", "recompute", "recompute-modules", "offload", "torch-buffers",
        "narrow-swiglu", "narrow-attention-output"}},
      {"Trained weights", {"lora-rank", "lora-targets", "freeze", "freeze-layers"}},
      {"Communication",
       {"bucket", "prefetch", "gather-singly", "no-overlap", "tp-overlap", "ep-overlap",
        "expert-sms"}},
      {"Precision", {"dtype", "grad-dtype", "accumulate-dtype", "moments-dtype"}},
      {"Kernels",
       {"attention", "vendor-attention", "narrow-attention", "narrow-head", "fp8-rowwise",
        "grouped-experts", "fused-experts", "fused-pointwise", "compiled", "cuda-graphs",
        "fused-loss", "loss-in-place", "fused-gradient-sum", "vocabulary-multiple"}}};
  return groups;
}

const char* group_of(std::string_view field) {
  for (const FieldGroup& group : field_groups())
    if (std::ranges::find(group.fields, field) != group.fields.end()) return group.name;
  return "";
}

// A field's value in a plan that nothing has set, as its flag is written; empty where it has no
// value.
struct DefaultText {
  const PlanField& field;
  Plan plan{};

  std::string operator()(std::int64_t Plan::* m) const { return number(plan.*m); }
  std::string operator()(int Plan::* m) const { return number(plan.*m); }
  std::string operator()(bool Plan::* m) const {
    if (field.value.empty()) return plan.*m ? "true" : "";
    const std::size_t bar = field.value.find('|');  // of two words the first is true
    return std::string(plan.*m ? field.value.substr(0, bar) : field.value.substr(bar + 1));
  }
  std::string operator()(std::vector<std::int64_t> Plan::* /*m*/) const { return {}; }
  std::string operator()(RecomputeModules Plan::* /*m*/) const { return {}; }
  std::string operator()(std::int64_t TrainedParts::* m) const { return number(plan.trained.*m); }
  std::string operator()(LoraTargets TrainedParts::* /*m*/) const { return {}; }
  std::string operator()(ModelParts TrainedParts::* /*m*/) const { return {}; }
  std::string operator()(Bytes Plan::* m) const { return byte_size_text(plan.*m); }
  std::string operator()(int Precision::* m) const {
    return plan.precision.*m == 4 ? "fp32" : "bf16";
  }
  template <class Enum>
  std::string operator()(const PlanChoice<Enum>& c) const {
    return std::string(c.names[static_cast<std::size_t>(plan.*c.member)]);
  }
  std::string operator()(std::monostate /*none*/) const {
    return field.name == "dtype" ? std::string(name(plan.precision.matmul)) : std::string();
  }

 private:
  [[nodiscard]] std::string number(std::int64_t value) const {
    return value > 0 || field.name == "zero" ? std::to_string(value) : std::string();
  }
};

std::string default_text(const PlanField& field) {
  // What the model, the other fields or nothing gives.
  constexpr std::array<std::string_view, 3> without = {"seq", "global-batch", "dp"};
  if (std::ranges::find(without, field.name) != without.end()) return {};
  return std::visit(DefaultText{field}, field.member);
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

void declare_fields(CLI::App& app, PlanSource& s, std::span<const std::string_view> names) {
  const auto fields = plan_fields();
  s.values.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const PlanField& field = fields[i];
    if (!names.empty() && std::ranges::find(names, field.name) == names.end()) continue;
    const std::string flag = "--" + std::string(field.name);
    CLI::Option* option = field.value.empty()
                              ? app.add_flag(flag + "{true}", s.values[i], std::string(field.what))
                              : app.add_option(flag, s.values[i], std::string(field.what))
                                    ->type_name(std::string(field.value))
                                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    option->default_str(default_text(field))->group(group_of(field.name));
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
