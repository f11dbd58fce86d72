// SPDX-License-Identifier: Apache-2.0
// The blocks alive at one instant, merged by the call paths that allocated them.
#pragma once

#include <span>

#include "stepscope/analysis/memory/memory_account.h"

namespace stepscope {

[[nodiscard]] MemoryTree memory_tree(const MemorySnapshot& snapshot, const MemoryState& state,
                                     std::span<const AllocationSite> sites);

}  // namespace stepscope
