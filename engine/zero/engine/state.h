// SPDX-License-Identifier: Apache-2.0
// One rank's part of the training state for checkpoints: extents in logical elements of each unit,
// the same at every ZeRO stage, and the progress of training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/element.h"

namespace stepscope::zero {

// Elements [first, first + count()) of a unit's flat vector: master weights in f32 (f32 training:
// the parameters themselves) and AdamW's moments, equally long. The engine owns the memory. It is
// writable, so a checkpoint can be loaded into it.
struct StateExtent {
  std::size_t unit = 0;  // index into network_units()
  std::int64_t first = 0;
  std::span<float> master{};
  std::span<float> m{};
  std::span<float> v{};

  [[nodiscard]] std::int64_t count() const { return std::ssize(master); }
};

// The progress of training. All random values follow from the seed and these counts, so nothing
// else has to be kept.
struct TrainingCursor {
  std::uint64_t seed = 0;
  std::int64_t step = 0;           // finished steps, including skipped ones
  std::int64_t updates = 0;        // of the optimizer (AdamW's t): `step` minus skipped steps
  std::int64_t data_position = 0;  // in the global sample order: the next unused sample
  std::int64_t tokens = 0;         // trained on, of all ranks

  bool operator==(const TrainingCursor&) const = default;
};

// The extents of all ranks together cover each unit once. A rank's extents are its logical shards
// (zero/plan/shard.h). Units without a part of the rank are left out.
struct TrainingState {
  ElementType parameters = ElementType::f32;  // the kernels' element type; the state is f32
  std::vector<std::string> unit_names{};
  std::vector<std::int64_t> unit_elements{};
  std::vector<StateExtent> extents{};
  TrainingCursor cursor{};
};

}  // namespace stepscope::zero
