// SPDX-License-Identifier: Apache-2.0
// Computation and communication measured apart, after training, with what the trained engine would
// compute next.
#pragma once

#include <span>

#include "engine/comm/measured/isolation.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/train/train_result.h"
#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/isolate.h"
#include "engine/zero/train/data.h"

namespace stepscope {

// The same at every rank. Called by all; the engine's values mean nothing afterwards.
[[nodiscard]] Result<TrainIsolation> isolate_training(zero::Engine& engine, Isolation& comm,
                                                      RankRecorder& recorder,
                                                      const zero::TokenData& data);

// From what the ranks measured, in their order; each has the same number of steps.
[[nodiscard]] TrainIsolation isolation_of(std::span<const zero::IsolatedTimes> ranks);

}  // namespace stepscope
