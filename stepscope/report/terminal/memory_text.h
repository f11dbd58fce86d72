// SPDX-License-Identifier: Apache-2.0
// `stepscope memory` for the terminal: what holds the memory at the peak, how much is lost between
// blocks, and what to do about it.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/pipeline/memory.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

struct MemoryTextOptions {
  TextOptions text{};
  std::size_t top = 10;  // holders shown
};

[[nodiscard]] std::string memory_text(const MemoryResult& result,
                                      const MemoryTextOptions& options = {});

}  // namespace stepscope
