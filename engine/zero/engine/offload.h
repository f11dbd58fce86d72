// SPDX-License-Identifier: Apache-2.0
// A rank's data in stores, by its plan: the stores and their buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "engine/zero/drive/block_reader.h"
#include "engine/zero/drive/gradient_staging.h"
#include "engine/zero/drive/shard_stores.h"
#include "engine/zero/drive/shard_stream.h"
#include "engine/zero/plan/step_plan.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

struct Offload {
  // `memory` is that of the plan's offload buffers and must outlive it. Null if nothing is
  // offloaded. Errors: those of ShardStores::create().
  [[nodiscard]] static Result<std::unique_ptr<Offload>> create(const Plan& plan,
                                                               const OffloadPlaces& places,
                                                               std::span<std::byte> memory);
  Offload(const Plan& plan, ShardStores made, std::span<std::byte> memory);

  ShardStores stores;
  ShardStream stream;                        // of the update
  std::optional<GradientStaging> gradients;  // if they are in a store
  std::optional<BlockReader> parameters;     // if they are in a store
};

}  // namespace stepscope::zero
