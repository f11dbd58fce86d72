// SPDX-License-Identifier: Apache-2.0
// How a job is divided, as somebody says it: a plan, a plan file or a DeepSpeed configuration, and
// single fields that differ from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// A field by its name in plan_fields(), and its value as it is written there: {"tp", "8"},
// {"sequence-parallel", "true"}. '-' and '_' are the same.
struct PlanSetting {
  std::string name;
  std::string value;
};

struct PlanSettings {
  // Where the settings start, the first that is given of these; else the defaults of Plan.
  std::optional<Plan> plan{};
  std::string plan_file{};  // JSON (cost/plan/plan_json.h)
  std::string ds_config{};  // DeepSpeed's ds_config.json
  // Devices in all. 0: nodes * gpus_per_node, or what the plan says.
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;  // 0: not given
  // Devices that share the fast links. 0: as many as the machine says.
  std::int64_t gpus_per_node = 0;
  // Set one after the other.
  std::vector<PlanSetting> fields{};
};

struct MadePlan {
  Plan plan;
  std::vector<std::string> notes;  // what a file says that a plan does not hold
};

// `differs`: fields of a variant, set last. dp follows from the devices where nobody gave it, the
// sequence from a model of fixed length. Errors say what is missing or what is wrong with it.
// check_plan has still to be asked.
[[nodiscard]] Result<MadePlan> make_plan(const PlanSettings& settings, const Transformer& model,
                                         const Machine& machine,
                                         std::span<const PlanSetting> differs = {});

// What a request has to name and does not, as one error; `model` is null where it is not known.
// "the machine and the batch are missing; give --machine NAME --global-batch N". `devices`: whether
// the settings have to say how many.
[[nodiscard]] std::optional<Error> missing_settings(const PlanSettings& settings, bool machine,
                                                    const Transformer* model, bool devices = true,
                                                    std::span<const PlanSetting> differs = {});

// The error of a plan that check_plan refuses: it names the plan's file if that file alone is
// refused too.
[[nodiscard]] Error with_plan_file(const PlanSettings& settings, const Transformer& model,
                                   Error error);

// Devices that share a scale-up domain, where the settings say so.
[[nodiscard]] std::optional<int> domain_of(const PlanSettings& settings);

}  // namespace stepscope
