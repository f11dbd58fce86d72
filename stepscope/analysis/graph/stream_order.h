// SPDX-License-Identifier: Apache-2.0
// The order of operations on their streams, and how long each of them has its stream. A stream runs
// one operation after the other, but recorded instants may overlap:
//
//   early      A kernel begins before its predecessor has ended, and ends after it. Programmatic
//              dependent launch (cudaLaunchKernelExC, cuLaunchKernelEx) allows that: the kernel
//              may begin once its predecessor permits it, and waits inside for the predecessor's
//              end (CUDA C++ Programming Guide, "Programmatic Dependent Launch and
//              Synchronization"). It is still the successor. The stream is the later kernel's
//              from its begin on, and the earlier one is cut there, so that both together take as
//              long as recorded. Rounded instants overlap in the same way.
//   branch     Kernels of one launch of a graph may run at once, and are all shown on the stream
//              of the launch. A kernel follows the one of them that ended last before it.
//   impossible An operation ends after a later one of its stream has ended. No stream does that,
//              so its end is unknown. Its successor still follows it.
//
// A recording in which more than one operation in a hundred ends impossibly does not show streams
// (lanes of nested or of merged work). There an operation follows the last that had ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/graph/learned_order.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct StreamPlace {
  std::uint32_t before = no_use;  // the operation that it follows: index into the operations
  Ns end{};                       // the stream goes on: at most the recorded end
  bool unknown_end = false;       // `end` is only the begin of its successor
  bool overlaps = false;          // it began before the recorded end of the one before it
};

// `ops`: operations of devices by start. Returns their places. O(ops).
[[nodiscard]] std::vector<StreamPlace> stream_order(const Trace& trace, const RankIndex& rank,
                                                    std::span<const SliceId> ops);

// By operation: a number that grows with the order in which the host launched them. Recorded calls
// count by their begin. Operations without one come before all others, in the order of the numbers
// of their calls (RankIndex::unlaunched); 0 where that is unknown.
[[nodiscard]] std::vector<std::uint64_t> launch_order(const Trace& trace, const RankIndex& rank,
                                                      std::span<const SliceId> ops);

}  // namespace stepscope
