// SPDX-License-Identifier: Apache-2.0
// What the links and drives of this machine can do, measured before step 1: the references of the
// efficiencies of `train`.
#pragma once

#include <string>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/telemetry/efficiency.h"
#include "engine/zero/engine/engine_config.h"
#include "stepscope/base/result.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct TrainReferences {
  ReferenceRates rates{};  // without a peak
  Messages warnings{};     // what could not be measured, and why
};

// Collectives of sizes up to a bucket's, and the drives that states are offloaded to, all ranks at
// once. Takes about 0.1 s on an idle machine, and 64 MiB on each drive. All ranks call it; the
// rates are the same at all. Errors: those of the transport.
[[nodiscard]] Result<TrainReferences> measure_references(Communicator& comm,
                                                         const zero::EngineConfig& config);

}  // namespace stepscope
