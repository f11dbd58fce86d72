// SPDX-License-Identifier: Apache-2.0
// Which operator caused which device work, and what that work amounts to. A device operation
// belongs to the deepest operator around its launch call on the launching thread, else to the
// operator of its External id. The flops of a call are counted once, at the innermost operator that
// knows them, and shared by time among the call's products.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/work/op_flops.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct DeviceWork {
  SliceId op = no_slice;     // kernel, copy or memset
  SliceId owner = no_slice;  // the operator; no_slice where the trace does not tell
  float flops_share = 0;     // of the owner's flops; 0 where it is none of its products
  float bytes_share = 0;     // of the owner's bytes, by time
};

struct OpWork {
  std::vector<SliceId> parent;      // by slice id, of host rows: the deepest operator around it
  std::vector<DeviceWork> device;   // by owner, then op; work without an owner comes last
  std::vector<OpCost> costs;        // distinct
  std::vector<std::uint32_t> cost;  // by row of Trace::ops: index into costs, or no_row
  std::vector<bool> counts;         // by slice id: this call's flops are counted here
  std::vector<bool>
      recompute;  // by slice id: an operator that a backward runs to rebuild activations

  // What the shapes say about a call, counted or not; null where it has none.
  [[nodiscard]] const OpCost* cost_of(const Trace& trace, SliceId op) const;
};

// O(N log N). Memory beside the trace: 4.3 bytes a slice, 4 an operator, 16 a device operation.
[[nodiscard]] OpWork attribute_work(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
