// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/memory_fragments.h"

#include <algorithm>

namespace stepscope {
namespace {

// Pages of expandable segments.
constexpr std::int64_t small_page = std::int64_t{2} << 20U;
constexpr std::int64_t large_page = std::int64_t{20} << 20U;

// Calls `segment_with_gaps(segment, blocks)` and `gap(segment, begin, size)` with offsets into the
// segment. Returns the number of blocks outside all segments.
template <class Gap, class Block>
std::uint64_t walk(const MemoryState& state, Gap gap, Block block) {
  std::uint64_t outside = 0;
  std::size_t next = 0;
  for (const SegmentLife* s : state.segments) {
    const std::uint64_t end = s->address + static_cast<std::uint64_t>(s->size.value);
    while (next < state.blocks.size() && state.blocks[next]->address < s->address) {
      ++outside;
      ++next;
    }
    std::uint64_t at = s->address;
    bool used = false;
    for (; next < state.blocks.size() && state.blocks[next]->address < end; ++next) {
      const BlockLife& b = *state.blocks[next];
      const std::uint64_t block_end = b.address + static_cast<std::uint64_t>(b.size.value);
      if (b.address < at || block_end > end) {  // overlaps another block or the segment's end
        ++outside;
        continue;
      }
      if (b.address > at) gap(*s, at - s->address, b.address - at, true);
      used = true;
      at = block_end;
      block(b);
    }
    if (at < end) gap(*s, at - s->address, end - at, used);
  }
  return outside + (state.blocks.size() - next);
}

// Whole pages inside a gap.
Bytes whole_pages(const SegmentLife& s, std::uint64_t begin, std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(s.large ? large_page : small_page);
  const std::uint64_t first = (begin + page - 1) / page * page;
  const std::uint64_t last = (begin + size) / page * page;
  return Bytes{last > first ? static_cast<std::int64_t>(last - first) : 0};
}

}  // namespace

MemoryFragments memory_fragments(const MemoryState& state, std::uint32_t position) {
  MemoryFragments out;
  out.segments = state.segments.size();
  for (const SegmentLife* s : state.segments) {
    out.reserved += s->size;
    if (s->expandable) ++out.expandable;
  }
  const SegmentLife* split = nullptr;
  out.outside = walk(
      state,
      [&](const SegmentLife& s, std::uint64_t begin, std::uint64_t size, bool used) {
        const Bytes gap{static_cast<std::int64_t>(size)};
        // A gap before the first block comes before the segment is known to be used.
        const bool in_use = used || gap < s.size;
        out.largest_free = std::max(out.largest_free, gap);
        if (in_use && split != &s) {
          ++out.segments_split;
          split = &s;
        }
        const Bytes back = !in_use ? gap : s.expandable ? whole_pages(s, begin, size) : Bytes{};
        out.cached += back;
        out.stranded += gap - back;
      },
      [&](const BlockLife& b) {
        out.requested += std::min(b.requested, b.size);
        out.rounding += b.size - std::min(b.requested, b.size);
        if (b.released <= position) out.pending += b.size;
      });
  return out;
}

MemoryFit memory_fit(const MemoryState& state, Bytes request, std::uint64_t stream,
                     MemoryPool pool) {
  MemoryFit out;
  const bool large = request.value > small_limit;
  walk(
      state,
      [&](const SegmentLife& s, std::uint64_t, std::uint64_t size, bool) {
        const Bytes gap{static_cast<std::int64_t>(size)};
        if (s.stream == stream && s.pool == pool && s.large == large) {
          out.largest_usable = std::max(out.largest_usable, gap);
          out.free_usable += gap;
        } else {
          out.largest_other = std::max(out.largest_other, gap);
        }
      },
      [](const BlockLife&) {});
  return out;
}

}  // namespace stepscope
