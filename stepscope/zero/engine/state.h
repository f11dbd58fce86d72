// SPDX-License-Identifier: Apache-2.0
// What one rank holds of the state of training, as checkpoints see it: extents in logical elements
// of each unit, the same at every ZeRO stage, and where training stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/element.h"

namespace stepscope::zero {

// Elements [first, first + master.size()) of a unit's flat vector: master weights in f32 (f32
// training: the parameters themselves) and AdamW's moments, equally long. The memory is the
// engine's, and writable: a checkpoint is loaded into it.
struct StateExtent {
  std::size_t unit = 0;  // index into network_units()
  std::int64_t first = 0;
  std::span<float> master;
  std::span<float> m;
  std::span<float> v;
};

// Where training stands. Everything random follows from the seed and these counts, so that nothing
// else has to be kept.
struct TrainingCursor {
  std::uint64_t seed = 0;
  std::int64_t step = 0;           // steps done, skipped ones too
  std::int64_t updates = 0;        // of the optimizer (AdamW's t); step less the skipped ones
  std::int64_t data_position = 0;  // of the global sample order: the next sample that no rank saw
  std::int64_t tokens = 0;         // trained on, of all ranks

  bool operator==(const TrainingCursor&) const = default;
};

// The extents of all ranks together cover each unit once; a rank's own are its logical shards
// (zero/plan/shard.h), units of which it owns nothing left out.
struct TrainingState {
  ElementType parameters = ElementType::f32;  // as the kernels read them; the state is f32
  std::vector<std::string> unit_names{};
  std::vector<std::int64_t> unit_elements{};
  std::vector<StateExtent> extents{};
  TrainingCursor cursor{};
};

}  // namespace stepscope::zero
