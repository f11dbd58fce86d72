// SPDX-License-Identifier: Apache-2.0
// From what a run left behind to its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/telemetry/rank_window.h"
#include "engine/train/train_account.h"
#include "engine/train/train_request.h"
#include "engine/train/train_result.h"
#include "engine/zero/engine/engine.h"
#include "stepscope/say/message.h"

namespace stepscope {

// What the loop said of its steps.
struct TrainHistory {
  struct Step {
    zero::StepResult result;
    std::optional<double> validation;
  };
  std::int64_t first_step = 0;
  std::vector<Step> steps;
  std::vector<std::string> checkpoints;
  Messages warnings;
};

// `account` has a step for each of history's, in order, with all ranks.
[[nodiscard]] TrainResult train_result_of(const TrainRequest& request, const zero::Engine& engine,
                                          const Communicator& comm, const TrainAccount& account,
                                          const TrainHistory& history,
                                          const ReferenceRates& references);

// A step's time in the design's categories and phases; each sums to its wall time.
[[nodiscard]] TrainRankStep rank_step_of(const StepRecord& step);

}  // namespace stepscope
