// SPDX-License-Identifier: Apache-2.0
// Blocks that profiling code prints for people, or writes as JSON: means, sums and verdicts,
// without what they were computed from. The table of printed_block.cc says of each what it lacks,
// and which command gives the same answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

struct PrintedBlock {
  std::string_view name{};    // as people know it
  std::string_view lacks{};   // "the times of single steps"
  std::string_view remedy{};  // a sentence of an error
};

[[nodiscard]] std::vector<PrintedBlock> printed_blocks();  // by mark, so that some repeat

// The first such block of a text; null where no line begins one. The prefix
// of a launcher ("[rank0]: ") does not count.
[[nodiscard]] const PrintedBlock* printed_block(std::string_view text);

// The error of a verb that could not read its file: where the file has such a block, it says so,
// unless the error offers a pattern for lines that repeat. Looks at the first MiB.
[[nodiscard]] Error with_printed_block(Error error);

}  // namespace stepscope
