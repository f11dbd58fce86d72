// SPDX-License-Identifier: Apache-2.0
// The history of a caching allocator, replayed: which block lived from when to when, which segments
// were held, and how many bytes that was at each position of the trace. Position p is the state
// after the first p events; the last position is the instant of the snapshot.
//
// A trace may begin in the middle (recording began late, or its ring wrapped). The segments at its
// beginning follow from those of the snapshot by undoing all events; the blocks alive there are
// those that are freed or held later without having been allocated.
//
// Events say what was asked for. What was given follows from the allocator's rules (rounding, and
// the rest of a free block that is too small to be split off); of blocks that the snapshot holds it
// is known. `sizes_corrected` counts where the two differ.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "stepscope/event/memory_snapshot.h"

namespace stepscope {

inline constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

// The caching allocator serves larger requests (bytes) from its large pool.
inline constexpr std::int64_t small_limit = std::int64_t{1} << 20U;

struct BlockLife {
  std::uint64_t address = 0;
  Bytes requested{};
  Bytes size{};
  std::uint32_t begin = 0;         // the first position at which it lives
  std::uint32_t released = never;  // … at which its owner has given it back
  std::uint32_t end = never;       // … at which it can be used again
  std::uint32_t stack = 0;         // of the allocation
  std::uint32_t free_stack = 0;
  std::uint64_t stream = 0;
  bool before_trace = false;  // its allocation is not in the trace
  bool at_end = false;        // the snapshot has it
  StringId category{};
};

// A stretch of memory that was held without a change of its ends.
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
  // By position, one more than there are events.
  std::vector<std::int64_t> live{};       // bytes of blocks, given and not yet usable again
  std::vector<std::int64_t> requested{};  // … asked for
  std::vector<std::int64_t> reserved{};   // bytes of segments
  bool begins_empty = true;               // nothing was held before the first event
  // Contradictions between events, and between them and the snapshot: 0 in a whole trace.
  std::uint64_t blocks_missing = 0;    // alive after the last event or in the snapshot, not both
  std::uint64_t blocks_reused = 0;     // given out again while alive: a free is not recorded
  std::uint64_t frees_unknown = 0;     // of a block that was not alive any more
  std::uint64_t segments_unknown = 0;  // freed or allocated against what is held
  std::uint64_t sizes_corrected = 0;
};

[[nodiscard]] MemoryReplay replay_memory(const SnapshotDevice& device,
                                         const AllocatorSettings& settings);

// What a request of `requested` bytes takes, before what cannot be split off.
[[nodiscard]] Bytes rounded_request(Bytes requested, const AllocatorSettings& settings);

// What was there at a position, by address.
struct MemoryState {
  std::vector<const BlockLife*> blocks{};
  std::vector<const SegmentLife*> segments{};
};
[[nodiscard]] MemoryState state_at(const MemoryReplay& replay, std::uint32_t position);

}  // namespace stepscope
