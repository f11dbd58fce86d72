// SPDX-License-Identifier: Apache-2.0
// The operator behind each device operation, and the work of that operation. A device operation
// belongs to the deepest operator around its launch call on the launching thread, else to the
// operator of its External id. The flops of a call are counted once, at the innermost operator with
// known flops, and shared by time among the call's products.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/work/op_flops.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct DeviceWork {
  SliceId op = no_slice;     // kernel, copy or memset
  SliceId owner = no_slice;  // the operator; no_slice if the trace does not show it
  float flops_share = 0;     // of the owner's flops; 0 if it is not one of its products
  float bytes_share = 0;     // of the owner's bytes, by time; 0 if it moves its own
};

struct OpWork {
  std::vector<SliceId> parent;      // by slice id: deepest operator around each host row
  std::vector<DeviceWork> device;   // by owner, then op; work without an owner comes last
  std::vector<OpCost> costs;        // distinct
  std::vector<std::uint32_t> cost;  // by row of Trace::ops: index into costs, or no_row
  std::vector<bool> counts;         // by slice id: this call's flops are counted here
  std::vector<bool> recompute;      // by slice id: a backward runs it to rebuild activations

  // The cost of a call from its shapes, counted or not; null if it has no shapes.
  [[nodiscard]] const OpCost* cost_of(const Trace& trace, SliceId op) const;
};

// Sums over the runs of a kernel or an operator whose work is known.
struct KnownWork {
  std::uint64_t with_flops = 0;
  std::uint64_t with_bytes = 0;
  Ns time_with_flops{};
  Ns time_with_bytes{};
  double flops = 0;
  double bytes = 0;

  void add_flops(Flops all, double share, Ns time) {
    ++with_flops;
    time_with_flops += time;
    flops += all.value * share;
  }
  void add_bytes(Bytes all, double share, Ns time) {
    ++with_bytes;
    time_with_bytes += time;
    bytes += static_cast<double>(all.value) * share;
  }
  // Sums are given if all runs are known, rates are over those that are.
  template <class Row>
  void give(std::uint64_t runs, Row& row) const {
    if (with_flops == runs) row.flops = Flops{flops};
    if (time_with_flops > Ns{}) row.rate = Flops{flops} / seconds(time_with_flops);
    if (with_bytes == runs) row.bytes = Bytes{std::llround(bytes)};
    if (time_with_bytes > Ns{}) row.bandwidth = ByteRate{bytes / seconds(time_with_bytes).count()};
  }
};

// O(N log N). Memory in addition to the trace: 4.3 bytes per slice, 4 per operator, 16 per device
// operation.
[[nodiscard]] OpWork attribute_work(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
