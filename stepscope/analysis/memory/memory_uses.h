// SPDX-License-Identifier: Apache-2.0
// The use of each block of a replayed history, in terms of MemoryUse
// (analysis/work/device_memory.h), inferred from the stacks of its allocation and its free:
//   parameters   allocated in setup and never freed; before the trace, without a stack, never freed
//   optimizer    allocated in the optimizer and never freed; before the trace, and freed there
//   gradients    allocated in a backward and not freed in one; before the trace, and freed in
//                zero_grad
//   activations  allocated in a forward and not freed in one; anywhere else, or before the trace,
//                and freed in a backward
//   temporary    freed in the phase that allocated it, or allocated in setup or optimizer and freed
//   unknown      the rest
// A category in the file itself (pages of profile_plot) takes precedence. If only Python's stacks
// are recorded, an allocation without a stack counts as autograd's.
#pragma once

#include <span>
#include <vector>

#include "stepscope/analysis/memory/allocation_site.h"
#include "stepscope/analysis/memory/memory_replay.h"
#include "stepscope/analysis/work/device_memory.h"

namespace stepscope {

// Element i is the use of replay.blocks[i]. `sites`: allocation_sites().
[[nodiscard]] std::vector<MemoryUse> memory_uses(const MemorySnapshot& snapshot,
                                                 const SnapshotDevice& device,
                                                 const MemoryReplay& replay,
                                                 std::span<const AllocationSite> sites);

}  // namespace stepscope
