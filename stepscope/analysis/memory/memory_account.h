// SPDX-License-Identifier: Apache-2.0
// What held a device's memory: at its peak, at the end and over time, by use and by the line that
// asked for it; what was lost between blocks; where the allocator ran short.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/memory/allocation_site.h"
#include "stepscope/analysis/memory/memory_fragments.h"
#include "stepscope/analysis/work/memory_blocks.h"

namespace stepscope {

// Blocks alive at one instant that one line asked for.
struct MemoryHolder {
  AllocationSite site{};               // all empty where no stack is recorded
  MemoryUse use = MemoryUse::unknown;  // of most of its bytes
  Bytes bytes{};
  Bytes requested{};
  std::uint64_t blocks = 0;
  std::uint32_t stack = 0;  // of most of its bytes; 0: not recorded
};

// Call paths of the blocks alive at one instant, outermost first, as columns in preorder. Node 0 is
// all. Of what autograd's threads allocate the path is the node they run and the operator.
struct MemoryTree {
  std::vector<std::string> labels{};    // each once
  std::vector<std::uint32_t> label{};   // in `labels`
  std::vector<std::uint32_t> parent{};  // of node 0: 0
  std::vector<Bytes> total{};           // with everything below
};
// Paths that hold less than this share of all are not in a tree; node 0 has their bytes.
inline constexpr double least_tree_share = 0.001;

struct MemoryInstant {
  std::uint32_t position = 0;
  std::optional<Ns> time{};  // since the first event
  MemoryFragments fragments{};
  std::array<Bytes, memory_use_count> by_use{};  // sums to live
  std::vector<MemoryHolder> holders{};           // largest first
};

// Where the allocator found no room: what was asked for, and what would have been enough.
enum class OomVerdict : std::uint8_t {
  fragmented,  // the free bytes would have been enough in one piece
  streams,     // a free block of another stream or pool would have been enough
  pending,     // … what waits for another stream
  too_large    // all that is free and all the device had left are less than the request
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
  Bytes missing{};  // request − free − device_free; 0 where that is enough
};

// Segments were given back to make room for another one: a retry, which waits for the device.
struct SegmentRetries {
  std::uint64_t count = 0;
  std::uint64_t segments = 0;  // given back in them
  Bytes bytes{};               // … and how much
  std::uint64_t certain = 0;   // with the same stack around the frees and the allocation
  Ns total{};                  // from the first free to the allocation, where times are recorded
  std::uint64_t emptied = 0;   // cache emptied by the program, not counted above
};

struct MemoryTimePoint {
  std::uint32_t position = 0;
  Ns time{};  // since the first event; where no times are recorded 1 ns an event
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
  Ns start{};  // UNIX, of the first event
  Ns length{};
  MemoryInstant peak{};  // of live bytes; the first such instant
  MemoryInstant end{};   // the snapshot
  Bytes peak_reserved{};
  MemoryTree tree{};                        // at the peak
  std::vector<MemoryTimePoint> timeline{};  // at most timeline_points
  std::vector<OutOfMemory> ooms{};          // the first most_ooms
  std::uint64_t oom_count = 0;
  SegmentRetries retries{};
  std::uint64_t lasting = 0;  // blocks of the end that were allocated in the trace …
  Bytes lasting_bytes{};      // … and hold this much
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
