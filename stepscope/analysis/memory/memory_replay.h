// SPDX-License-Identifier: Apache-2.0
// The replayed history of a caching allocator: the life of each block, the held segments, and the
// bytes at each position of the trace. Position p is the state after the first p events. The last
// position is the instant of the snapshot.
//
// A trace may begin in the middle (recording began late, or its ring wrapped). The segments at its
// beginning follow from the snapshot's segments by undoing all events. The blocks alive there are
// those that are freed or held later without an allocation.
//
// Events have the requested sizes. The given sizes follow from the allocator's rules (rounding, and
// the rest of a free block if it is too small to be split off). For blocks in the snapshot they are
// known. `sizes_corrected` counts the differences.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "stepscope/event/memory_snapshot.h"

namespace stepscope {

inline constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

// Requests above this size (bytes) come from the large pool.
inline constexpr std::int64_t small_limit = std::int64_t{1} << 20U;

struct BlockLife {
  std::uint64_t address = 0;
  Bytes requested{};
  Bytes size{};
  std::uint32_t begin = 0;         // first position at which it lives
  std::uint32_t released = never;  // … after its owner has freed it
  std::uint32_t end = never;       // … at which its memory is usable again
  std::uint32_t stack = 0;         // of the allocation
  std::uint32_t free_stack = 0;
  std::uint64_t stream = 0;
  bool before_trace = false;  // its allocation is older than the trace
  StringId category{};
};

// A stretch of held memory, while its bounds did not change.
struct SegmentLife {
  std::uint64_t address = 0;
  Bytes size{};
  std::uint32_t begin = 0;
  std::uint32_t end = never;
  std::uint64_t stream = 0;
  MemoryPool pool{};
  bool large = true;
  bool expandable = false;
};

struct MemoryReplay {
  std::vector<BlockLife> blocks{};      // by begin
  std::vector<SegmentLife> segments{};  // by begin
  // By position; size is the number of events + 1.
  std::vector<std::int64_t> live{};       // bytes of blocks that are not yet usable again
  std::vector<std::int64_t> requested{};  // … as requested
  std::vector<std::int64_t> reserved{};   // bytes of segments
  bool begins_empty = true;               // nothing was held before the first event
  // Contradictions between events, and between events and the snapshot: 0 in a complete trace.
  std::uint64_t blocks_missing = 0;    // alive after the last event or in the snapshot, not both
  std::uint64_t blocks_reused = 0;     // allocated again while alive: a free is not recorded
  std::uint64_t frees_unknown = 0;     // of a block that was no longer alive
  std::uint64_t segments_unknown = 0;  // freed or allocated in contradiction to the held segments
  std::uint64_t sizes_corrected = 0;
};

[[nodiscard]] MemoryReplay replay_memory(const SnapshotDevice& device,
                                         const AllocatorSettings& settings);

[[nodiscard]] constexpr bool takes_segment(AllocatorAction action) {
  return action == AllocatorAction::segment_alloc || action == AllocatorAction::segment_map;
}
[[nodiscard]] constexpr bool gives_segment_back(AllocatorAction action) {
  return action == AllocatorAction::segment_free || action == AllocatorAction::segment_unmap;
}

// The state at a position, by address.
struct MemoryState {
  std::vector<const BlockLife*> blocks{};
  std::vector<const SegmentLife*> segments{};
};
[[nodiscard]] MemoryState state_at(const MemoryReplay& replay, std::uint32_t position);

// The part of an allocator's memory that no tensor uses, and the part of it that is still usable.
//
//   reserved = requested + rounding + cached + stranded
//     requested   bytes the owners requested (includes blocks that wait for another stream)
//     rounding    bytes given beyond that: internal fragmentation
//     cached      free bytes in unused segments, or whole pages of expandable segments. They can go
//                 back to the device. This is slack of the cache, not fragmentation
//     stranded    free bytes between used blocks: usable only for requests that fit there
//   external fragmentation for a request that fits nowhere: 1 − largest usable block / free

struct MemoryFragments {
  Bytes reserved{};
  Bytes requested{};
  Bytes rounding{};
  Bytes cached{};
  Bytes stranded{};
  Bytes pending{};       // of requested + rounding: waits for another stream
  Bytes largest_free{};  // the largest free block
  std::uint64_t segments = 0;
  std::uint64_t segments_split = 0;  // partly used
  std::uint64_t expandable = 0;
  std::uint64_t outside = 0;  // blocks outside all segments; they are in none of the sums

  [[nodiscard]] Bytes live() const { return requested + rounding; }
  [[nodiscard]] Bytes free() const { return cached + stranded; }
};

// A request compared with the free memory.
struct MemoryFit {
  Bytes largest_usable{};  // the largest free block of its stream, pool and kind
  Bytes free_usable{};     // all free bytes of that stream, pool and kind
  Bytes largest_other{};   // the largest free block of another stream, pool or kind
};

[[nodiscard]] MemoryFragments memory_fragments(const MemoryState& state, std::uint32_t position);
[[nodiscard]] MemoryFit memory_fit(const MemoryState& state, Bytes request, std::uint64_t stream,
                                   MemoryPool pool);

}  // namespace stepscope
