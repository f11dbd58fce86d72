// SPDX-License-Identifier: Apache-2.0
#include "tests/memory/simulated_allocator.h"

#include <algorithm>
#include <iterator>

namespace stepscope::testing {
namespace {

constexpr std::int64_t mib = 1 << 20;

std::int64_t up(std::int64_t size, std::int64_t unit) { return (size + unit - 1) / unit * unit; }

std::uint64_t offset(std::int64_t size) { return static_cast<std::uint64_t>(size); }

bool splits(const SimSegment& segment, std::int64_t rest) {
  return !segment.large || segment.expandable ? rest >= 512 : rest > mib;
}

bool unused(const SimSegment& segment) {
  return segment.blocks.size() == 1 &&
         segment.blocks.begin()->second.state == SimBlock::State::free;
}

}  // namespace

SimulatedAllocator::SimulatedAllocator(std::int64_t capacity, bool expandable_segments)
    : expandable(expandable_segments), capacity_(capacity) {
  totals.emplace_back();
}

std::size_t SimulatedAllocator::stack(SimStack frames) {
  stacks.push_back(std::move(frames));
  return stacks.size() - 1;
}

void SimulatedAllocator::emit(const char* action, std::uint64_t address, std::int64_t size,
                              std::uint64_t stream, std::size_t stack) {
  events.push_back({action, address, size, stream, now_us_, stack});
  totals.push_back(now_);
  ++now_us_;
}

SimSegment* SimulatedAllocator::find_free(std::int64_t size, std::uint64_t stream, bool large,
                                          std::uint64_t& address) {
  SimSegment* best = nullptr;
  std::int64_t least = 0;
  for (auto& [base, segment] : segments) {
    if (segment.stream != stream || segment.large != large) continue;
    for (const auto& [at, block] : segment.blocks)
      if (block.state == SimBlock::State::free && block.size >= size &&
          (best == nullptr || block.size < least)) {
        best = &segment;
        least = block.size;
        address = at;
      }
  }
  return best;
}

bool SimulatedAllocator::grow(std::int64_t size, std::uint64_t stream, bool large,
                              std::size_t stack) {
  if (expandable) return grow_expandable(size, stream, large, stack);
  const std::int64_t bytes = !large ? 2 * mib : size < 10 * mib ? 20 * mib : up(size, 2 * mib);
  if (now_.reserved + bytes > capacity_) return false;
  SimSegment segment{stream, large, false, bytes, {}};
  segment.blocks[next_address_] = {.size = bytes};
  segments.emplace(next_address_, std::move(segment));
  now_.reserved += bytes;
  emit("segment_alloc", next_address_, bytes, stream, stack);
  next_address_ += offset(up(bytes, 2 * mib) + 4 * mib);
  return true;
}

// One segment per pool and stream; pages are mapped at its end.
bool SimulatedAllocator::grow_expandable(std::int64_t size, std::uint64_t stream, bool large,
                                         std::size_t stack) {
  const std::int64_t page = large ? 20 * mib : 2 * mib;
  auto last = segments.end();
  for (auto at = segments.begin(); at != segments.end(); ++at)
    if (at->second.stream == stream && at->second.large == large) last = at;
  std::int64_t free_end = 0;
  if (last != segments.end()) {
    const SimBlock& block = last->second.blocks.rbegin()->second;
    if (block.state == SimBlock::State::free) free_end = block.size;
  }
  const std::int64_t bytes = up(size - free_end, page);
  if (now_.reserved + bytes > capacity_) return false;
  now_.reserved += bytes;
  if (last == segments.end()) {
    SimSegment segment{stream, large, true, bytes, {}};
    segment.blocks[next_address_] = {.size = bytes};
    segments.emplace(next_address_, std::move(segment));
    emit("segment_map", next_address_, bytes, stream, stack);
    next_address_ += std::uint64_t{1} << 40U;  // virtual addresses are plentiful
    return true;
  }
  SimSegment& segment = last->second;
  const std::uint64_t end = last->first + offset(segment.size);
  segment.size += bytes;
  segment.blocks[end] = {.size = bytes};
  merge_around(segment, end);
  emit("segment_map", end, bytes, stream, stack);
  return true;
}

void SimulatedAllocator::release_unused(std::size_t stack) {
  for (auto at = segments.begin(); at != segments.end();) {
    if (!unused(at->second)) {
      ++at;
      continue;
    }
    const std::uint64_t address = at->first;
    const std::int64_t size = at->second.size;
    const std::uint64_t stream = at->second.stream;
    const bool pages = at->second.expandable;
    at = segments.erase(at);
    now_.reserved -= size;
    emit(pages ? "segment_unmap" : "segment_free", address, size, stream, stack);
  }
}

void SimulatedAllocator::empty_cache(std::size_t stack) { release_unused(stack); }

std::optional<std::uint64_t> SimulatedAllocator::allocate(std::int64_t bytes, std::uint64_t stream,
                                                          std::size_t stack) {
  const std::int64_t size = std::max<std::int64_t>(up(bytes, 512), 512);
  const bool large = size > mib;
  std::uint64_t address = 0;
  SimSegment* segment = find_free(size, stream, large, address);
  if (segment == nullptr) {
    if (!grow(size, stream, large, stack)) {
      const std::size_t before = events.size();
      release_unused(stack);
      if (events.size() > before) ++retries;
      if (!grow(size, stream, large, stack)) {
        emit("oom", offset(capacity_ - now_.reserved), size, stream, stack);
        return std::nullopt;
      }
    }
    segment = find_free(size, stream, large, address);
  }
  SimBlock& block = segment->blocks[address];
  if (const std::int64_t rest = block.size - size; splits(*segment, rest)) {
    block.size = size;
    segment->blocks[address + offset(size)] = {.size = rest};
  }
  block.state = SimBlock::State::active;
  block.requested = bytes;
  block.stack = stack;
  now_.live += block.size;
  now_.requested += bytes;
  emit("alloc", address, bytes, stream, stack);
  return address;
}

void SimulatedAllocator::free(std::uint64_t address, std::size_t stack, bool later) {
  SimSegment& segment = std::prev(segments.upper_bound(address))->second;
  SimBlock& block = segment.blocks.at(address);
  emit("free_requested", address, block.requested, segment.stream, stack);
  block.state = SimBlock::State::pending;
  if (!later) finish(address);
}

void SimulatedAllocator::finish(std::uint64_t address) {
  SimSegment& segment = std::prev(segments.upper_bound(address))->second;
  SimBlock& block = segment.blocks.at(address);
  const std::int64_t requested = block.requested;
  now_.live -= block.size;
  now_.requested -= requested;
  block.state = SimBlock::State::free;
  merge_around(segment, address);
  emit("free_completed", address, requested, segment.stream, 0);
}

void SimulatedAllocator::merge_around(SimSegment& segment, std::uint64_t address) {
  auto at = segment.blocks.find(address);
  const auto join = [&](auto first, auto second) {
    if (first->second.state != SimBlock::State::free ||
        second->second.state != SimBlock::State::free)
      return first;
    first->second.size += second->second.size;
    segment.blocks.erase(second);
    return first;
  };
  if (const auto next = std::next(at); next != segment.blocks.end()) join(at, next);
  if (at != segment.blocks.begin()) join(std::prev(at), at);
}

}  // namespace stepscope::testing
