// SPDX-License-Identifier: Apache-2.0
// What a request to train means: the network, its data, the engine, the loop.
#pragma once

#include <string>

#include "engine/train/train_request.h"
#include "engine/zero/engine/engine_config.h"
#include "engine/zero/train/data.h"
#include "engine/zero/train/trainer.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct TrainSettings {
  zero::EngineConfig engine;
  zero::DataConfig data;
  zero::TrainerConfig trainer;
};

// For `ranks` ranks. Errors have the code `refused`, and name the flag and what to write.
[[nodiscard]] Result<TrainSettings> train_settings(const TrainRequest& request, int ranks);

// "none", "selective", "full", "every 2": as a report names it.
[[nodiscard]] std::string recompute_words(const nn::RecomputePlan& plan);

}  // namespace stepscope
