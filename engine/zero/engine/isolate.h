// SPDX-License-Identifier: Apache-2.0
// Measures what a step's communication costs while the step computes. The same step of the same
// plan is measured in three ways, in turns.
//
//   both            the normal training step
//   compute         without collectives (comm/measured/isolation.h). Packing, unpacking, the norm
//                   and the update remain. Other ranks' parameters are the latest received ones;
//                   gradients are those of this rank alone
//   communication   only the collectives of a step of `both`, in their order, with their bytes and
//                   with the waits at their places
//
// The engine's values are meaningless afterwards. Save its state before if you need it.
#pragma once

#include <span>
#include <vector>

#include "engine/comm/measured/isolation.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/zero/engine/engine.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct IsolateConfig {
  int rounds = 3;  // each way once per round
  int steps = 4;   // measured each time, after one warm-up step
};

// The times of one rank, by measured step (rounds × steps of each).
struct IsolatedTimes {
  std::vector<Ns> both{};
  std::vector<Ns> exposed{};  // of `both`: the main thread waited for collectives
  std::vector<Ns> compute{};
  std::vector<Ns> communication{};
};

// `comm` is the communicator that the engine was made with. All ranks call it. Errors:
// communication failed; values are not finite and the engine is configured to stop.
[[nodiscard]] Result<IsolatedTimes> isolate(Engine& engine, Isolation& comm, RankRecorder& recorder,
                                            std::span<const nn::MicroBatch> micro_batches,
                                            const IsolateConfig& config = {});

}  // namespace stepscope::zero
