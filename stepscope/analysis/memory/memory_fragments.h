// SPDX-License-Identifier: Apache-2.0
// The part of an allocator's memory that no tensor uses, and the part of it that is still usable.
//
//   reserved = requested + rounding + cached + stranded
//     requested   bytes the owners requested (includes blocks that wait for another stream)
//     rounding    bytes given beyond that: internal fragmentation
//     cached      free bytes in unused segments, or whole pages of expandable segments. They can go
//                 back to the device. This is slack of the cache, not fragmentation
//     stranded    free bytes between used blocks: usable only for requests that fit there
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
