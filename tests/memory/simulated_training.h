// SPDX-License-Identifier: Apache-2.0
// What a training run asks a simulated allocator for, with a record of what each block was for.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/memory/simulated_allocator.h"

namespace stepscope::testing {

// From the event that gave it to the one that took it (never: the largest number).
struct SimLife {
  std::size_t begin = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();
  std::int64_t size = 0;
  std::int64_t requested = 0;
  std::string use;  // as stepscope names it
  std::size_t stack = 0;
};

struct SimRun {
  SimulatedAllocator allocator;
  std::vector<SimLife> lives;
  // The segments where most was live, the first such instant, and after which event that was.
  std::map<std::uint64_t, SimSegment> peak_segments;
  std::size_t peak_event = 0;
};

struct TrainingShape {
  int layers = 4;
  int steps = 2;
  std::int64_t width = 700'000;  // bytes of a parameter, more or less
  std::int64_t capacity = std::int64_t{64} << 30;
  bool expandable = false;
};
// Parameters; in each step forward with activations and temporary buffers, backward with gradients,
// an optimizer that makes its states in the first step and drops the gradients in each.
[[nodiscard]] SimRun simulated_training(const TrainingShape& shape, unsigned seed);

// Sizes from a byte to some 60 MB on two streams, freed at once, later or never; sometimes the
// cache is emptied.
[[nodiscard]] SimRun simulated_noise(int operations, bool expandable, std::int64_t capacity,
                                     unsigned seed);

}  // namespace stepscope::testing
