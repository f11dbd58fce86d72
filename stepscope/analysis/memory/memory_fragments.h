// SPDX-License-Identifier: Apache-2.0
// What of the memory that an allocator holds is no tensor's, and what of that it could still use.
//
//   reserved = requested + rounding + cached + stranded
//     requested   what owners asked for (of blocks that wait for another stream too)
//     rounding    given beyond that: internal fragmentation
//     cached      free in segments that nobody uses, or whole pages of expandable segments: it can
//                 go back to the device. Slack of the cache, not fragmentation
//     stranded    free between blocks in use: it can only serve what fits there
//   external fragmentation for a request that fits nowhere: 1 − largest usable block / free
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/analysis/memory/memory_replay.h"

namespace stepscope {

struct MemoryFragments {
  Bytes reserved{};
  Bytes requested{};
  Bytes rounding{};
  Bytes cached{};
  Bytes stranded{};
  Bytes pending{};       // of requested + rounding: waits for another stream
  Bytes largest_free{};  // the largest free block
  std::uint64_t segments = 0;
  std::uint64_t segments_split = 0;  // used in part
  std::uint64_t expandable = 0;
  std::uint64_t outside = 0;  // blocks that lie in no segment; they are in none of the sums

  [[nodiscard]] Bytes live() const { return requested + rounding; }
  [[nodiscard]] Bytes free() const { return cached + stranded; }
};

// A request against what is free: where it may go, and what stands in its way.
struct MemoryFit {
  Bytes largest_usable{};  // the largest free block of its stream, pool and kind
  Bytes free_usable{};     // all free bytes of that stream, pool and kind
  Bytes largest_other{};   // the largest free block that belongs to another stream, pool or kind
};

[[nodiscard]] MemoryFragments memory_fragments(const MemoryState& state, std::uint32_t position);
[[nodiscard]] MemoryFit memory_fit(const MemoryState& state, Bytes request, std::uint64_t stream,
                                   MemoryPool pool);

}  // namespace stepscope
