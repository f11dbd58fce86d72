// SPDX-License-Identifier: Apache-2.0
// Where an allocator ran short: allocations that failed, and those for which it gave segments back
// first.
#pragma once

#include "stepscope/analysis/memory/memory_account.h"

namespace stepscope {

// Fills ooms (but for their times), oom_count and retries.
void find_shortages(const SnapshotDevice& device, const MemoryReplay& replay,
                    DeviceMemoryAccount& account);

}  // namespace stepscope
