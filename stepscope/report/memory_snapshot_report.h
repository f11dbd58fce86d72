// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope memory`: what holds the memory at the peak, how much is lost between
// blocks, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/memory.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct MemoryTextOptions {
  TextOptions text{};
  std::size_t top = 10;  // holders shown
};

// "At its peak device 0 holds 12.3 GB: 45.2 % are activations, …" of the device that holds most.
[[nodiscard]] std::string memory_sentence(const MemoryResult& result);
[[nodiscard]] std::string memory_text(const MemoryResult& result,
                                      const MemoryTextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json memory_tree_json(const MemoryResult& result);

}  // namespace stepscope
