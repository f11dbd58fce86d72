// SPDX-License-Identifier: Apache-2.0
// The use of a device's memory at its peak, at the end and over time, by kind of use and by
// allocating line; the memory lost between blocks; the times when the allocator ran short.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/memory/allocation_site.h"
#include "stepscope/analysis/memory/memory_replay.h"
#include "stepscope/analysis/work/device_memory.h"

namespace stepscope {

// Blocks alive at one instant that one line allocated, or that have one use and no stack.
struct MemoryHolder {
  AllocationSite site{};               // all empty if no stack is recorded
  MemoryUse use = MemoryUse::unknown;  // of most of its bytes
  Bytes bytes{};
  Bytes requested{};
  std::uint64_t blocks = 0;
  std::uint32_t stack = 0;  // of most of its bytes; 0: not recorded
};

// Call paths of the blocks alive at one instant, outermost first, as columns in preorder. Node 0 is
// the total. Allocations on autograd's threads have the running node and the operator as their
// path.
struct MemoryTree {
  std::vector<std::string> labels{};    // distinct
  std::vector<std::uint32_t> label{};   // index into `labels`
  std::vector<std::uint32_t> parent{};  // of node 0: 0
  std::vector<Bytes> total{};           // including everything below
};
// Paths below this share of the total are not in a tree. Their bytes count in node 0.
inline constexpr double least_tree_share = 0.001;

struct MemoryInstant {
  std::uint32_t position = 0;
  std::optional<Ns> time{};  // since the first event
  MemoryFragments fragments{};
  std::array<Bytes, memory_use_count> by_use{};  // sum is live
  std::vector<MemoryHolder> holders{};           // largest first
};

// Why the allocator found no room, by the memory that would have been enough.
enum class OomVerdict : std::uint8_t {
  fragmented,  // the free bytes, in one piece
  streams,     // a free block of another stream or pool
  pending,     // … including memory that waits for another stream
  too_large    // none: all free memory and the device's rest are less than the request
};
struct OutOfMemory {
  std::uint32_t position = 0;
  std::optional<Ns> time{};
  Bytes request{};
  Bytes device_free{};
  std::uint32_t stack = 0;
  OomVerdict verdict = OomVerdict::too_large;
  MemoryFragments fragments{};
  MemoryFit fit{};
  Bytes missing{};  // request − free − device_free; 0 if that is enough
};

// A retry: segments were freed to make room for another one, which waits for the device.
struct SegmentRetries {
  std::uint64_t count = 0;
  std::uint64_t segments = 0;  // segments freed in retries
  Bytes bytes{};               // … and their bytes
  std::uint64_t certain = 0;   // retries with one stack around the frees and the allocation
  Ns total{};                  // from the first free to the allocation, if times are recorded
  std::uint64_t emptied = 0;   // times the program emptied the cache; not counted above
};

struct MemoryTimePoint {
  std::uint32_t position = 0;
  Ns time{};  // since the first event; 1 ns per event if no times are recorded
  Bytes live{};
  Bytes requested{};
  Bytes reserved{};
  std::array<Bytes, memory_use_count> by_use{};
};

struct DeviceMemoryAccount {
  int device = 0;
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;
  bool has_times = false;
  bool has_stacks = false;
  bool begins_empty = true;
  bool trains = true;  // a stack shows a backward or an optimizer, or an allocation has no stack
  Ns start{};          // UNIX, of the first event
  Ns length{};
  MemoryInstant peak{};  // of live bytes; the first of equal ones
  MemoryInstant end{};   // at the snapshot
  Bytes peak_reserved{};
  MemoryTree tree{};                        // at the peak
  std::vector<MemoryTimePoint> timeline{};  // at most timeline_points
  std::vector<OutOfMemory> ooms{};          // the first most_ooms
  std::uint64_t oom_count = 0;
  SegmentRetries retries{};
  std::uint64_t lasting = 0;  // blocks at the end that were allocated in the trace …
  Bytes lasting_bytes{};      // … and their bytes
  // Contradictions (MemoryReplay).
  std::uint64_t contradictions = 0;
  std::uint64_t sizes_corrected = 0;
};

inline constexpr std::size_t timeline_points = 1000;
inline constexpr std::size_t most_ooms = 20;

struct MemoryAccount {
  std::vector<DeviceMemoryAccount> devices{};
};
[[nodiscard]] MemoryAccount memory_account(const MemorySnapshot& snapshot);

}  // namespace stepscope
