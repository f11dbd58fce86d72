// SPDX-License-Identifier: Apache-2.0
// The flags of `stepscope predict`, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/face/help/output_flags.h"
#include "stepscope/verbs/inputs/plan_source.h"
#include "stepscope/verbs/predict/predict.h"
#include "stepscope/verbs/predict/predict_collective.h"

namespace stepscope {

struct PredictFlags {
  PlanSource source;
  std::string collective;
  std::string bytes = "1KB:1GB";
  int group = 0;
  bool layers = false;
  std::string conventions = "stepscope";
  std::vector<std::string> explain;
  std::vector<std::string> compare;
  double price_per_gpu_hour = 0;
  std::string chakra;
  std::string goal;
  OutputPaths out;
};

void declare(CLI::App& app, PredictFlags& flags);

// As understood. The errors say what is wrong and what to write.
[[nodiscard]] Result<PredictRequest> predict_request(const PredictFlags& flags);
// --collective, --bytes and --group.
[[nodiscard]] Result<PredictCollectiveRequest> collective_request(const PredictFlags& flags);

}  // namespace stepscope
