// SPDX-License-Identifier: Apache-2.0
// What the flags of `stepscope train` mean: the network, its data, the engine, the loop.
#pragma once

#include <optional>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/cli/train_flags.h"
#include "stepscope/nn/network/network_config.h"
#include "stepscope/zero/engine/engine_config.h"
#include "stepscope/zero/train/data.h"
#include "stepscope/zero/train/trainer.h"

namespace stepscope {

struct TrainSettings {
  zero::EngineConfig engine;
  zero::DataConfig data;
  zero::TrainerConfig trainer;
  TraceSchedule trace;
  std::vector<Fault> faults;
};

// For `ranks` ranks. Errors are wrong usage: they name the flag and what to write.
[[nodiscard]] Result<TrainSettings> train_settings(const TrainFlags& flags, int ranks);

// "none", "selective", "full", "every 2": as a report names it.
[[nodiscard]] std::string recompute_words(const nn::RecomputePlan& plan);

}  // namespace stepscope
