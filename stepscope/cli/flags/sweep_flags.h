// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope sweep`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/measuring_flags.h"
#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/sweep.h"

namespace stepscope {

struct SweepFlags {
  std::string vary;
  std::vector<std::string> command;
  LaunchFlags launching{.launches = 2};
  std::string unit = "ms";
  std::string step_annotation;
  std::string kernel_rules;
  StatisticsFlags statistics;
  OutputPaths out;
};

void declare(CLI::App& app, SweepFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<SweepRequest> sweep_request(const SweepFlags& flags);

}  // namespace stepscope
