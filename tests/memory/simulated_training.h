// SPDX-License-Identifier: Apache-2.0
// The memory requests of a training run to a simulated allocator, with a record of each block's
// use.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/memory/simulated_allocator.h"

namespace stepscope::testing {

// From the allocating event to the freeing one (never: the largest number).
struct SimLife {
  std::size_t begin = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();
  std::int64_t size = 0;
  std::int64_t requested = 0;
  std::string use;  // named as in stepscope
  std::size_t stack = 0;
};

struct SimRun {
  SimulatedAllocator allocator;
  std::vector<SimLife> lives;
  // The segments at the first peak of live bytes, and the number of the event that caused it.
  std::map<std::uint64_t, SimSegment> peak_segments;
  std::size_t peak_event = 0;
};

struct TrainingShape {
  int layers = 4;
  int steps = 2;
  std::int64_t width = 700'000;  // approximate bytes of a parameter
  std::int64_t capacity = std::int64_t{64} << 30;
  bool expandable = false;
};
// Parameters. Each step has a forward pass with activations and temporary buffers, a backward pass
// with gradients, and an optimizer that allocates its states in the first step and drops the
// gradients.
[[nodiscard]] SimRun simulated_training(const TrainingShape& shape, unsigned seed);

// Sizes from a byte to about 60 MB on two streams, freed at once, later or never. The cache is
// sometimes emptied.
[[nodiscard]] SimRun simulated_noise(int operations, bool expandable, std::int64_t capacity,
                                     unsigned seed);

}  // namespace stepscope::testing
