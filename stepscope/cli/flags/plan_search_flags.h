// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope plan`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/cli/flags/plan_source.h"
#include "stepscope/pipeline/plan.h"

namespace stepscope {

struct PlanFlags {
  PlanSource source;
  std::string gpus;  // "512" or "64:512"
  std::vector<std::string> fix;
  std::vector<std::string> most;
  PlanRequest request;  // what the others say, once they are understood
  std::string framework;
  OutputPaths out;
};

void declare(CLI::App& app, PlanFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<PlanRequest> plan_request(const PlanFlags& flags);
// The name of the framework whose flags are asked for ("Megatron-LM"); empty: none.
[[nodiscard]] std::string framework_name(const PlanFlags& flags);

}  // namespace stepscope
