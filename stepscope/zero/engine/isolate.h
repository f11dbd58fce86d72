// SPDX-License-Identifier: Apache-2.0
// What a step's communication costs beside its computation: the same step of the same plan measured
// in three ways, in turns.
//
//   both            as it is trained
//   compute         collectives left out (comm/measured/isolation.h): packing, unpacking, the norm
//   and the
//                   update stay, as each rank would do them; parameters of other ranks are those
//                   that came last, gradients those of this rank alone
//   communication   the collectives of a step of `both`, in their order, with their bytes and the
//                   waits where they were, and nothing else
//
// Values mean nothing afterwards: whoever wants the engine's state keeps it before.
#pragma once

#include <span>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/comm/measured/isolation.h"
#include "stepscope/telemetry/rank_recorder.h"
#include "stepscope/zero/engine/engine.h"

namespace stepscope::zero {

struct IsolateConfig {
  int rounds = 3;  // each way once a round
  int steps = 4;   // measured each time, after one that is not
};

// Of one rank, by measured step (rounds × steps of each).
struct IsolatedTimes {
  std::vector<Ns> both{};
  std::vector<Ns> exposed{};  // of `both`: the main thread stood still for collectives
  std::vector<Ns> compute{};
  std::vector<Ns> communication{};
};

// `comm` is what the engine was made with. Called by all ranks. Errors: of communication; values
// that are not finite, where the engine stops for those.
[[nodiscard]] Result<IsolatedTimes> isolate(Engine& engine, Isolation& comm, RankRecorder& recorder,
                                            std::span<const nn::MicroBatch> micro_batches,
                                            const IsolateConfig& config = {});

}  // namespace stepscope::zero
