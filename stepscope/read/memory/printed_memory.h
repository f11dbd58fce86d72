// SPDX-License-Identifier: Apache-2.0
// Tables of the allocator's totals at points of a step, as a loop prints them under "=== Memory
// Profile ===":
//   Label                             Allocated     Reserved         Peak     Frag
//   after_forward                       40.20GB      42.50GB      40.90GB    5.4%
//   Checkpoint                        Allocated         Peak        Delta
//   After forward (activations)        6460.0 MB     8600.0 MB      +17.1 MB
// Units are decimal. Other lines are left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

struct MemoryCheckpoint {
  std::string label{};
  Bytes allocated{};
  std::optional<Bytes> reserved{};
  Bytes peak{};  // the most that was allocated since the peak was reset
};

// In the order of the lines, of all tables of the text.
[[nodiscard]] std::vector<MemoryCheckpoint> printed_checkpoints(std::string_view text);

}  // namespace stepscope
