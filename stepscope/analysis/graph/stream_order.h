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

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stepscope/analysis/graph/learned_order.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct StreamPlace {
  std::uint32_t before = no_use;  // the operation that it follows: index into the operations
  Ns end{};                       // the stream goes on: at most the recorded end
  bool unknown_end = false;       // `end` is only the begin of its successor
};

// `ops`: operations of devices by start. Returns their places. O(ops).
[[nodiscard]] std::vector<StreamPlace> stream_order(const Trace& trace, const RankIndex& rank,
                                                    std::span<const SliceId> ops);

// By operation: a number that grows with the order in which the host launched them. Recorded calls
// count by their begin. Operations without one come before all others, in the order of the numbers
// of their calls (RankIndex::unlaunched); 0 where that is unknown.
[[nodiscard]] std::vector<std::uint64_t> launch_order(const Trace& trace, const RankIndex& rank,
                                                      std::span<const SliceId> ops);

// Finds time slices of other processes on a shared device. Several processes take turns on a
// device. A process whose queue is empty loses the device for the time slice of the others: its
// work waits for that long, whatever it launches meanwhile. Such stretches have equal lengths,
// however late the launches come. Equal length identifies them.

// A stretch from `since` to `until` in which a device ran nothing. It ends with an operation that,
// by its launch and its stream, could have begun at `ready`.
struct IdleStretch {
  Ns since{};
  Ns until{};
  Ns ready{};
};

// Shorter stretches are usual between operations.
inline constexpr Ns least_idle_stretch = std::chrono::microseconds{20};

// Work that is ready for this long, this often, was held back by another process.
inline constexpr Ns held_long = std::chrono::microseconds{200};
inline constexpr std::size_t held_often = 10;

// The stretches of one device (rows, ascending) that were another process's time slice. Empty
// unless three conditions hold: three quarters of them have the median length, within a tenth; the
// median is at least 500 µs; and ten of those had work that was ready for 200 µs.
[[nodiscard]] std::vector<std::size_t> find_holds(std::span<const IdleStretch> stretches);

}  // namespace stepscope
