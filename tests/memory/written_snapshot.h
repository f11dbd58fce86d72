// SPDX-License-Identifier: Apache-2.0
// The state and history of a simulated allocator, in the forms that PyTorch and its tools write.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "tests/memory/simulated_allocator.h"

namespace stepscope::testing {

struct WrittenAs {
  bool stacks = true;
  bool history = true;
  bool times = true;
  std::size_t ring = std::numeric_limits<std::size_t>::max();  // number of last events kept
  int device = 0;
};

// Protocol 4 with a memo for repeated values, as Python's pickle module writes it.
[[nodiscard]] std::string pickled(const SimulatedAllocator& allocator, const WrittenAs& as = {});
[[nodiscard]] std::string as_json(const SimulatedAllocator& allocator, const WrittenAs& as = {});
// As torch.cuda._memory_viz.trace_plot writes it.
[[nodiscard]] std::string as_page(const std::string& pickle);

}  // namespace stepscope::testing
