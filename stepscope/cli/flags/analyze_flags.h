// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope analyze`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/cli/flags/plan_source.h"
#include "stepscope/cli/flags/traces_flags.h"
#include "stepscope/pipeline/analyze.h"

namespace stepscope {

struct AnalyzeFlags {
  TracesFlags traces;
  JobDescription job;
  PlanSource plan;
  std::string gpu_log_zone;
  bool timeline = false;
  bool brief = false;
  bool verbose = false;
  std::string json;
  std::string html;
  std::string csv;
  std::string perfetto;
  std::string chakra;
  std::string goal;
  bool goal_recorded_times = false;
  std::string write_machine;
};

void declare(CLI::App& app, AnalyzeFlags& flags);
// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<AnalyzeRequest> analyze_request(const AnalyzeFlags& flags);

}  // namespace stepscope
