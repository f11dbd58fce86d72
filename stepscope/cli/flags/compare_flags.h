// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope compare`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/measuring_flags.h"
#include "stepscope/cli/flags/output_flags.h"
#include "stepscope/pipeline/compare.h"

namespace stepscope {

struct CompareFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::vector<std::string> commands;
  LaunchFlags launching{.launches = 3};
  std::string order;
  std::string unit = "ms";
  std::string step_annotation;
  std::string kernel_rules;
  StatisticsFlags statistics;
  std::optional<double> max_regression;  // a share
  std::string inconclusive = "fail";
  OutputPaths out;
};

void declare(CLI::App& app, CompareFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<CompareRequest> compare_request(CompareFlags flags);

}  // namespace stepscope
