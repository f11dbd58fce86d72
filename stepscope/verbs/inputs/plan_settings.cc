// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/plan_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "stepscope/cost/plan/deepspeed_config.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

Result<Done> apply(Plan& plan, const PlanSettings& s) {
  for (const PlanSetting& field : s.fields) {
    if (const auto set = set_plan_field(plan, field.name, field.value); !set) {
      Error error = set.error();
      error.what = fmt::format("--{} {}", field.name, error.what);
      return error;
    }
  }
  return Done{};
}

bool names(std::span<const PlanSetting> settings, std::string_view name) {
  const PlanField* field = find_plan_field(name);
  return std::ranges::any_of(
      settings, [&](const PlanSetting& f) { return find_plan_field(f.name) == field; });
}

// Without --gpus: nodes times what is in one.
Result<std::int64_t> devices_of(const PlanSettings& s, const Machine& machine) {
  if (s.nodes == 0) return s.gpus;
  std::int64_t per_node = s.gpus_per_node;
  if (per_node == 0 && machine.scale_up && machine.scale_up->domain)
    per_node = *machine.scale_up->domain;
  if (per_node == 0)
    return Error{.what = "how many GPUs a node of " + machine.name + " has is unknown",
                 .hint = "give --gpus-per-node"};
  const std::int64_t all = s.nodes * per_node;
  if (s.gpus != 0 && s.gpus != all)
    return Error{.what = fmt::format("--gpus {} is not {} nodes of {}", s.gpus, s.nodes, per_node),
                 .hint = fmt::format("{} nodes of {} are {} GPUs", s.nodes, per_node, all)};
  return all;
}

Result<MadePlan> start_of(const PlanSettings& s, const Transformer& model, std::int64_t devices) {
  MadePlan made;
  if (s.plan) {
    made.plan = *s.plan;
  } else if (!s.plan_file.empty()) {
    auto plan = read_plan(s.plan_file);
    if (!plan) return plan.error();
    made.plan = std::move(*plan);
  } else if (!s.ds_config.empty()) {
    Plan said;  // by fields, of what the file does not know
    if (const auto set = apply(said, s); !set) return set.error();
    const auto given_by = [&](std::string_view name, auto value) {
      return names(s.fields, name) ? std::optional(value) : std::nullopt;
    };
    auto read = read_deepspeed(s.ds_config,
                               {.devices = devices,
                                .tp = said.tp,
                                .pp = said.pp,
                                .ep = said.ep,
                                .sequence = said.batch.sequence,
                                .recompute = said.memory.recompute,
                                .micro_batch = given_by("micro-batch", said.batch.micro),
                                .global_batch = given_by("global-batch", said.batch.global),
                                .dtype = given_by("dtype", said.precision.matmul)},
                               model);
    if (!read) return read.error();
    made = {std::move(read->plan), std::move(read->notes)};
  }
  return made;
}

// dp is what is left where nobody gave it. Where the rest does not divide, check_plan says so.
void derive_dp(Plan& plan) {
  const std::int64_t ranks = tensor_ranks(plan);
  const double model_ranks =
      static_cast<double>(ranks) * static_cast<double>(plan.cp) * static_cast<double>(plan.pp);
  plan.dp = 1;
  if (model_ranks <= static_cast<double>(plan.devices))
    plan.dp = std::max<std::int64_t>(plan.devices / (ranks * plan.cp * plan.pp), 1);
}

// Absent: the model takes sequences of any length.
std::optional<std::int64_t> length_of(const Transformer& model) {
  if (model.patches) return image_tokens(*model.patches);
  if (model.positions == Positions::learned && model.max_positions > 0) return model.max_positions;
  return std::nullopt;
}

}  // namespace

std::optional<Error> missing_settings(const PlanSettings& s, bool machine, const Transformer* model,
                                      bool devices, std::span<const PlanSetting> differs) {
  const auto given = [&](std::string_view name) {
    return names(s.fields, name) || names(differs, name);
  };
  const bool whole = s.plan || !s.plan_file.empty();
  struct Missing {
    bool is;
    std::string_view what;
    std::string_view flag;
  };
  const bool any_length = model == nullptr || !length_of(*model);
  const auto all = std::to_array<Missing>({
      {model == nullptr, "the model", "MODEL"},
      {!machine, "the machine", "--machine NAME"},
      {devices && !whole && s.gpus == 0 && s.nodes == 0, "the number of GPUs", "--gpus N"},
      {!whole && s.ds_config.empty() && !given("global-batch"), "the batch (in sequences)",
       "--global-batch N"},
      {!whole && !given("seq") && any_length, "the length of the sequences", "--seq N"},
  });
  std::vector<std::string_view> what;
  std::string flags;
  for (const Missing& m : all) {
    if (!m.is) continue;
    what.push_back(m.what);
    flags.append(flags.empty() ? "" : " ").append(m.flag);
  }
  if (what.empty()) return std::nullopt;
  const std::string_view last = what.back();
  what.pop_back();
  return Error{.what = fmt::format("{}{}{} {} missing", fmt::join(what, ", "),
                                   what.empty() ? "" : " and ", last, what.empty() ? "is" : "are"),
               .hint = "give " + flags,
               .code = ErrorCode::refused};
}

Result<MadePlan> make_plan(const PlanSettings& s, const Transformer& model, const Machine& machine,
                           std::span<const PlanSetting> differs) {
  const auto given = [&](std::string_view name) {
    return names(s.fields, name) || names(differs, name);
  };
  const auto devices = devices_of(s, machine);
  if (!devices) return devices.error();
  const bool whole = s.plan || !s.plan_file.empty();
  if (auto missing = missing_settings(s, true, &model, true, differs)) return *std::move(missing);
  auto made = start_of(s, model, *devices);
  if (!made) return made.error();
  Plan& plan = made->plan;
  if (!whole && !given("seq")) plan.batch.sequence = length_of(model).value_or(0);
  if (const auto set = apply(plan, s); !set) return set.error();
  for (const PlanSetting& field : differs)
    if (const auto set = set_plan_field(plan, field.name, field.value); !set) return set.error();
  if (*devices > 0) plan.devices = *devices;
  const bool degrees =
      *devices > 0 || given("tp") || given("sequence-degree") || given("cp") || given("pp");
  if (!given("dp") && degrees) derive_dp(plan);
  return made;
}

Error with_plan_file(const PlanSettings& s, const Transformer& model, Error error) {
  if (s.plan_file.empty() || !error.file.empty()) return error;
  const auto alone = read_plan(s.plan_file);
  if (alone && !check_plan(model, *alone)) error.file = s.plan_file;
  return error;
}

std::optional<int> domain_of(const PlanSettings& s) {
  if (s.gpus_per_node > 0) return static_cast<int>(s.gpus_per_node);
  return std::nullopt;
}

}  // namespace stepscope
