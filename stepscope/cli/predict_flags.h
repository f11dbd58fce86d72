// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope predict`, and what --collective asks for.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cli/plan_source.h"
#include "stepscope/cost/time/collective_sweep.h"

namespace stepscope {

struct PredictFlags {
  PlanSource source;
  std::string collective;
  std::string bytes = "1KB:1GB";
  int group = 0;
  bool layers = false;
  std::vector<std::string> explain;
  std::vector<std::string> compare;
  double price_per_gpu_hour = 0;
  std::string json;
  std::string csv;
  std::string html;
};

void declare(CLI::App& app, PredictFlags& flags);

struct CollectiveQuestion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  SweepRange range;
};

// --collective, --bytes and --group as understood. The error says what is wrong and what to write.
[[nodiscard]] Result<CollectiveQuestion> collective_question(const PredictFlags& flags);

}  // namespace stepscope
