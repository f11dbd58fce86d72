// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/plan_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "stepscope/cost/plan/deepspeed_config.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_json.h"

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

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Result<Done> apply_flags(Plan& plan, const PlanSource& source) {
  const auto fields = plan_fields();
  for (std::size_t i = 0; i < fields.size() && i < source.values.size(); ++i) {
    if (source.values[i].empty()) continue;
    if (const auto set = fields[i].set(plan, source.values[i]); !set) {
      Error error = set.error();
      error.what = fmt::format("--{} {}", fields[i].name, error.what);
      return error;
    }
  }
  return Done{};
}

bool given(const PlanSource& source,
           const std::vector<std::pair<std::string, std::string>>& settings,
           std::string_view name) {
  const PlanField* field = find_plan_field(name);
  const auto at = static_cast<std::size_t>(field - plan_fields().data());
  if (at < source.values.size() && !source.values[at].empty()) return true;
  for (const auto& [key, text] : settings)
    if (find_plan_field(key) == field) return true;
  return false;
}

// Without --gpus: nodes times what is in one.
Result<std::int64_t> devices_of(const PlanSource& source, const Machine& machine) {
  if (source.nodes == 0) return source.gpus;
  std::int64_t per_node = source.gpus_per_node;
  if (per_node == 0 && machine.scale_up && machine.scale_up->domain)
    per_node = *machine.scale_up->domain;
  if (per_node == 0)
    return Error{.what = "how many GPUs a node of " + machine.name + " has is unknown",
                 .hint = "give --gpus-per-node"};
  const std::int64_t all = source.nodes * per_node;
  if (source.gpus != 0 && source.gpus != all)
    return Error{
        .what = fmt::format("--gpus {} is not {} nodes of {}", source.gpus, source.nodes, per_node),
        .hint = fmt::format("{} nodes of {} are {} GPUs", source.nodes, per_node, all)};
  return all;
}

Result<MadePlan> from_files(const PlanSource& source, const Transformer& model,
                            std::int64_t devices) {
  MadePlan made;
  if (!source.plan_file.empty()) {
    auto plan = read_plan(source.plan_file);
    if (!plan) return plan.error();
    made.plan = std::move(*plan);
  } else if (!source.ds_config.empty()) {
    Plan said;  // by flags, of what the file does not know
    if (const auto flags = apply_flags(said, source); !flags) return flags.error();
    auto read = read_deepspeed(source.ds_config,
                               {.devices = devices,
                                .tp = said.tp,
                                .pp = said.pp,
                                .ep = said.ep,
                                .sequence = said.sequence,
                                .recompute = said.recompute},
                               model);
    if (!read) return read.error();
    made = {std::move(read->plan), std::move(read->notes)};
  }
  return made;
}

// dp is what is left where nobody gave it. Where the rest does not divide, check_plan says so.
void derive_dp(Plan& plan) {
  const double model_ranks =
      static_cast<double>(plan.tp) * static_cast<double>(plan.cp) * static_cast<double>(plan.pp);
  plan.dp = 1;
  if (model_ranks <= static_cast<double>(plan.devices))
    plan.dp = std::max<std::int64_t>(plan.devices / (plan.tp * plan.cp * plan.pp), 1);
}

std::optional<Error> fix_sequence(Plan& plan, const Transformer& model) {
  if (model.patches)
    plan.sequence = image_tokens(*model.patches);
  else if (model.positions == Positions::learned && model.max_positions > 0)
    plan.sequence = model.max_positions;
  else
    return Error{.what = model.name + " takes sequences of any length", .hint = "give --seq N"};
  return std::nullopt;
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

Result<std::vector<Variant>> parse_variants(const std::vector<std::string>& axes) {
  constexpr std::size_t most = 256;
  std::vector<Variant> variants = {{}};
  for (const std::string& axis : axes) {
    const std::size_t is = axis.find('=');
    if (is == std::string::npos || is + 1 == axis.size())
      return Error{.what = "--compare " + axis + " is no list of values",
                   .hint = "write zero=0,1,2,3"};
    const std::string name = axis.substr(0, is);
    Plan scratch;
    std::vector<Variant> product;
    for (const Variant& before : variants)
      for (const std::string_view value : split(std::string_view(axis).substr(is + 1), ',')) {
        if (const auto set = set_plan_field(scratch, name, value); !set) {
          Error error = set.error();
          error.what = fmt::format("--compare {}: {}", axis, error.what);
          return error;
        }
        Variant v = before;
        v.label += fmt::format("{}{}={}", v.label.empty() ? "" : " ", name, value);
        v.settings.emplace_back(name, value);
        product.push_back(std::move(v));
      }
    if (product.size() > most)
      return Error{.what = fmt::format("--compare asks for more than {} plans", most),
                   .hint = "compare fewer values, or let stepscope plan search"};
    variants = std::move(product);
  }
  if (axes.empty()) variants.clear();
  return variants;
}

Result<MadePlan> make_plan(const PlanSource& source, const Transformer& model,
                           const Machine& machine,
                           const std::vector<std::pair<std::string, std::string>>& settings) {
  const auto devices = devices_of(source, machine);
  if (!devices) return devices.error();
  const bool file = !source.plan_file.empty();
  if (*devices == 0 && !file)
    return Error{.what = "the number of GPUs is missing", .hint = "give --gpus N"};
  auto made = from_files(source, model, *devices);
  if (!made) return made.error();
  Plan& plan = made->plan;
  const bool sequence_known = file || given(source, settings, "seq");
  if (!sequence_known)
    if (const auto missing = fix_sequence(plan, model)) return *missing;
  if (const auto flags = apply_flags(plan, source); !flags) return flags.error();
  for (const auto& [name, text] : settings)
    if (const auto set = set_plan_field(plan, name, text); !set) return set.error();
  if (*devices > 0) plan.devices = *devices;
  const bool degrees = *devices > 0 || given(source, settings, "tp") ||
                       given(source, settings, "cp") || given(source, settings, "pp");
  if (!given(source, settings, "dp") && degrees) derive_dp(plan);
  if (!file && source.ds_config.empty() && !given(source, settings, "global-batch"))
    return Error{.what = "the batch is missing",
                 .hint = "give --global-batch N, the sequences of one optimizer step"};
  return made;
}

std::optional<int> domain_of(const PlanSource& source) {
  if (source.gpus_per_node > 0) return static_cast<int>(source.gpus_per_node);
  return std::nullopt;
}

}  // namespace stepscope
