// SPDX-License-Identifier: Apache-2.0
// The flags that name a model, a machine and a plan.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/verbs/inputs/plan_settings.h"

namespace stepscope {

inline constexpr std::int64_t most_devices = 10'000'000;  // that a plan may have

// As given; empty and 0 = not given.
struct PlanSource {
  std::string model;
  std::string machine;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
  std::string plan_file;
  std::string ds_config;
  std::vector<std::string> values;  // one for each of plan_fields()
};

// Declares MODEL and --machine; `app` must not outlive `source`.
void declare_model_and_machine(CLI::App& app, PlanSource& source);
// These, where the plan comes from, and all its flags.
void declare_plan_source(CLI::App& app, PlanSource& source);
// --plan, and --gpus-per-node.
void declare_plan_file(CLI::App& app, PlanSource& source);
void declare_gpus_per_node(CLI::App& app, PlanSource& source);
// A flag for each of plan_fields() that is not among `without`.
void declare_fields(CLI::App& app, PlanSource& source,
                    std::span<const std::string_view> without = {});

[[nodiscard]] PlanSettings settings_of(const PlanSource& source);

}  // namespace stepscope
