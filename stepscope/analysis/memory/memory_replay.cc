// SPDX-License-Identifier: Apache-2.0
// Source of the rules: c10/cuda/CUDACachingAllocator of PyTorch 2.x (round_size, should_split).
#include "stepscope/analysis/memory/memory_replay.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_set>

namespace stepscope {
namespace {

constexpr std::int64_t unit = 512;  // every block is a multiple of it
constexpr std::int64_t small_segment = std::int64_t{2} << 20U;

std::uint64_t as_offset(Bytes size) { return static_cast<std::uint64_t>(size.value); }

// The bytes for a request of `requested` bytes, before a rest that cannot be split off is added.
Bytes rounded_request(Bytes requested, const AllocatorSettings& settings) {
  const std::int64_t size = std::max<std::int64_t>(requested.value, 1);
  if (size < unit) return Bytes{unit};
  const auto bits = static_cast<std::uint64_t>(size);
  const auto log = static_cast<std::int64_t>(std::bit_width(bits)) - 1;
  const auto& divisions = settings.roundup_divisions;
  const auto last = static_cast<std::int64_t>(divisions.size()) - 1;
  const std::int64_t parts =
      last < 0 ? 0
               : divisions[static_cast<std::size_t>(std::clamp<std::int64_t>(log - 20, 0, last))];
  if (parts > 1 && parts < (std::int64_t{1} << 40U) && size > unit * parts) {
    const std::uint64_t floor = std::bit_floor(bits);
    const std::uint64_t part =
        floor >> static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(parts)) - 1);
    if (bits == floor) return requested;
    if (part == 0) return Bytes{static_cast<std::int64_t>(floor << 1U)};
    return Bytes{static_cast<std::int64_t>((bits + part - 1) / part * part)};
  }
  return Bytes{(size + unit - 1) / unit * unit};
}

// Segments by address, and their history.
class Segments {
 public:
  using Map = std::map<std::uint64_t, SegmentLife>;

  explicit Segments(const SnapshotDevice& device) {
    for (const SnapshotSegment& s : device.segments)
      held_.emplace(s.address, SegmentLife{.address = s.address,
                                           .size = s.size,
                                           .stream = s.stream,
                                           .pool = s.pool,
                                           .large = s.large,
                                           .expandable = s.expandable});
  }

  // From the snapshot back to the state before the first event.
  void undo(const std::vector<AllocatorEvent>& events, std::uint64_t& contradictions) {
    for (std::size_t i = events.size(); i-- > 0;) {
      const AllocatorEvent& e = events[i];
      if (takes_segment(e.action) && !take(e)) ++contradictions;
      if (gives_segment_back(e.action) && !give(e)) ++contradictions;
    }
  }

  // Adds a segment or pages. Returns false if they are already held.
  bool give(const AllocatorEvent& e) {
    const bool expandable =
        e.action == AllocatorAction::segment_map || e.action == AllocatorAction::segment_unmap;
    const std::uint64_t end = e.address + as_offset(e.size);
    auto after = held_.lower_bound(e.address);
    if (e.size.value == 0 || end < e.address || (after != held_.end() && after->first < end))
      return false;
    if (after != held_.begin() && end_of(*std::prev(after)) > e.address) return false;
    SegmentLife fresh{.address = e.address,
                      .size = e.size,
                      .stream = e.stream,
                      .pool = e.pool,
                      .large = e.size.value > small_segment,
                      .expandable = expandable};
    if (expandable && after != held_.end() && after->first == end && joins(after->second, e)) {
      fresh = after->second;
      fresh.address = e.address;
      fresh.size += e.size;
      after = held_.erase(after);
    }
    if (expandable && after != held_.begin()) {
      const auto before = std::prev(after);
      if (end_of(*before) == e.address && joins(before->second, e)) {
        fresh.address = before->first;
        fresh.large = before->second.large;
        fresh.pool = before->second.pool;
        fresh.size += before->second.size;
        held_.erase(before);
      }
    }
    held_.emplace(fresh.address, fresh);
    return true;
  }

  // Removes them. Returns false if they are not held in this form.
  bool take(const AllocatorEvent& e) {
    auto at = held_.upper_bound(e.address);
    if (e.size.value == 0 || at == held_.begin()) return false;
    --at;
    const std::uint64_t begin = at->first;
    const std::uint64_t end = end_of(*at);
    const std::uint64_t cut_end = e.address + as_offset(e.size);
    if (cut_end > end || cut_end < e.address) return false;
    const bool whole = begin == e.address && end == cut_end;
    if (!whole && !at->second.expandable) return false;
    const SegmentLife was = at->second;
    held_.erase(at);
    if (begin < e.address) put(begin, e.address, was);
    if (cut_end < end) put(cut_end, end, was);
    return true;
  }

  // The held segment that contains this address; nullptr without one.
  [[nodiscard]] const Map::value_type* around(std::uint64_t address) const {
    auto at = held_.upper_bound(address);
    if (at == held_.begin()) return nullptr;
    --at;
    return address < end_of(*at) ? &*at : nullptr;
  }
  [[nodiscard]] const Map& all() const { return held_; }
  static std::uint64_t end_of(const Map::value_type& s) {
    return s.first + as_offset(s.second.size);
  }

 private:
  static bool joins(const SegmentLife& held, const AllocatorEvent& e) {
    return held.expandable && held.stream == e.stream;
  }
  void put(std::uint64_t begin, std::uint64_t end, SegmentLife like) {
    like.address = begin;
    like.size = Bytes{static_cast<std::int64_t>(end - begin)};
    held_.emplace(begin, like);
  }

  Map held_;
};

class Replay {
 public:
  Replay(const SnapshotDevice& device, const AllocatorSettings& settings)
      : device_(device), settings_(settings), segments_(device) {}

  MemoryReplay run() {
    segments_.undo(device_.events, out_.segments_unknown);
    find_earlier_blocks();
    out_.begins_empty = segments_.all().empty() && live_.empty();
    for (const auto& segment : segments_.all()) open_segment(segment, 0);
    const auto positions = device_.events.size() + 1;
    for (auto* column : {&out_.live, &out_.requested, &out_.reserved}) column->reserve(positions);
    note_totals();
    for (std::size_t i = 0; i < device_.events.size(); ++i) {
      step(device_.events[i], static_cast<std::uint32_t>(i + 1));
      note_totals();
    }
    compare_with_snapshot();
    settle_totals();
    return std::move(out_);
  }

 private:
  using Live = std::map<std::uint64_t, std::uint32_t>;  // address → index into out_.blocks

  // Blocks whose first event is not their allocation, and blocks of the snapshot without any event.
  void find_earlier_blocks() {
    std::unordered_set<std::uint64_t> seen;  // addresses
    for (const AllocatorEvent& e : device_.events) {
      if (e.action == AllocatorAction::alloc) seen.insert(e.address);
      if (e.action != AllocatorAction::free_requested &&
          e.action != AllocatorAction::free_completed)
        continue;
      if (!seen.insert(e.address).second) continue;
      add_earlier({.address = e.address,
                   .requested = e.size,
                   .size = rounded_request(e.size, settings_),
                   .stream = e.stream,
                   .before_trace = true,
                   .category = e.category});
    }
    for (const SnapshotSegment& s : device_.segments)
      for (std::uint32_t b = s.first_block; b < s.first_block + s.blocks; ++b) {
        const SnapshotBlock& block = device_.blocks[b];
        if (block.state == BlockState::inactive || seen.contains(block.address)) continue;
        add_earlier({.address = block.address,
                     .requested = block.requested,
                     .size = block.size,
                     .stack = block.stack,
                     .stream = s.stream,
                     .before_trace = true,
                     .category = block.category});
      }
  }
  void add_earlier(const BlockLife& life) {
    live_.emplace(life.address, static_cast<std::uint32_t>(out_.blocks.size()));
    out_.blocks.push_back(life);
    grow(life, 1);
  }
  void grow(const BlockLife& life, std::int64_t sign) {
    live_bytes_ += sign * life.size.value;
    requested_bytes_ += sign * life.requested.value;
  }
  void note_totals() {
    out_.live.push_back(live_bytes_);
    out_.requested.push_back(requested_bytes_);
    out_.reserved.push_back(reserved_bytes_);
  }

  void step(const AllocatorEvent& e, std::uint32_t position) {
    switch (e.action) {
      case AllocatorAction::alloc:
        return allocate(e, position);
      case AllocatorAction::free_requested:
      case AllocatorAction::free_completed:
        return release(e, position);
      case AllocatorAction::segment_alloc:
      case AllocatorAction::segment_map:
      case AllocatorAction::segment_free:
      case AllocatorAction::segment_unmap:
        return change_segments(e, position);
      default:
        return;
    }
  }

  void allocate(const AllocatorEvent& e, std::uint32_t position) {
    if (const auto old = live_.find(e.address); old != live_.end()) {
      ++out_.blocks_reused;
      finish(old, position);
    }
    const auto at = live_.emplace(e.address, static_cast<std::uint32_t>(out_.blocks.size())).first;
    out_.blocks.push_back({.address = e.address,
                           .requested = e.size,
                           .size = given(e, at),
                           .begin = position,
                           .stack = e.stack,
                           .stream = e.stream,
                           .category = e.category});
    grow(out_.blocks.back(), 1);
  }
  // If the rest of the free block cannot be split off, it is part of the block.
  Bytes given(const AllocatorEvent& e, Live::const_iterator at) const {
    const Bytes rounded = rounded_request(e.size, settings_);
    const Segments::Map::value_type* const segment = segments_.around(e.address);
    if (segment == nullptr || inside_another(at)) return rounded;
    std::uint64_t end = Segments::end_of(*segment);
    if (const auto next = std::next(at); next != live_.end() && next->first < end)
      end = next->first;
    const Bytes free{static_cast<std::int64_t>(end - e.address)};
    const std::int64_t rest = free.value - rounded.value;
    if (rest <= 0) return rounded;
    const bool splits = !segment->second.large || segment->second.expandable
                            ? rest >= unit
                            : rest > small_limit && (settings_.max_split_size.value < 0 ||
                                                     rounded < settings_.max_split_size);
    return splits ? rounded : free;
  }
  // True only in a trace that contradicts itself.
  [[nodiscard]] bool inside_another(Live::const_iterator at) const {
    if (at == live_.begin()) return false;
    const BlockLife& before = out_.blocks[std::prev(at)->second];
    return before.address + as_offset(before.size) > at->first;
  }
  void release(const AllocatorEvent& e, std::uint32_t position) {
    const auto at = live_.find(e.address);
    if (at == live_.end()) {
      ++out_.frees_unknown;
      return;
    }
    BlockLife& life = out_.blocks[at->second];
    const bool completed = e.action == AllocatorAction::free_completed;
    if (!completed || life.free_stack == 0) life.free_stack = e.stack;
    life.released = std::min(life.released, position);
    if (completed) finish(at, position);
  }
  void finish(Live::iterator at, std::uint32_t position) {
    BlockLife& life = out_.blocks[at->second];
    life.released = std::min(life.released, position);
    life.end = position;
    grow(life, -1);
    live_.erase(at);
  }

  void open_segment(const Segments::Map::value_type& s, std::uint32_t position) {
    open_.emplace(s.first, static_cast<std::uint32_t>(out_.segments.size()));
    out_.segments.push_back(s.second);
    out_.segments.back().begin = position;
    reserved_bytes_ += s.second.size.value;
  }
  void close_segment(std::uint64_t address, std::uint32_t position) {
    const auto at = open_.find(address);
    if (at == open_.end()) return;
    SegmentLife& life = out_.segments[at->second];
    life.end = position;
    reserved_bytes_ -= life.size.value;
    open_.erase(at);
  }
  void change_segments(const AllocatorEvent& e, std::uint32_t position) {
    // The segments that touch these pages before and after are the change.
    const std::uint64_t end = e.address + as_offset(e.size);
    std::vector<std::uint64_t> before;
    const auto touching = [&](auto&& use) {
      auto at = segments_.all().lower_bound(e.address);
      if (at != segments_.all().begin()) --at;
      for (; at != segments_.all().end() && at->first <= end; ++at)
        if (Segments::end_of(*at) >= e.address) use(*at);
    };
    touching([&](const auto& s) { before.push_back(s.first); });
    if (!(takes_segment(e.action) ? segments_.give(e) : segments_.take(e))) {
      ++out_.segments_unknown;
      return;
    }
    for (const std::uint64_t address : before) {
      const auto now = segments_.all().find(address);
      const auto was = open_.find(address);
      const bool same = now != segments_.all().end() && was != open_.end() &&
                        now->second.size == out_.segments[was->second].size;
      if (!same) close_segment(address, position);
    }
    touching([&](const auto& s) {
      if (!open_.contains(s.first)) open_segment(s, position);
    });
  }

  void compare_with_snapshot() {
    std::map<std::uint64_t, const SnapshotBlock*> active;
    for (const SnapshotBlock& block : device_.blocks)
      if (block.state != BlockState::inactive) active.emplace(block.address, &block);
    for (const auto& [address, block] : active)
      if (!live_.contains(address)) ++out_.blocks_missing;
    for (const auto& [address, index] : live_) {
      BlockLife& life = out_.blocks[index];
      const auto at = active.find(address);
      if (at == active.end()) {
        ++out_.blocks_missing;
        continue;
      }
      if (life.stack == 0) life.stack = at->second->stack;
      if (life.category == empty_string) life.category = at->second->category;
      if (life.size == at->second->size) continue;
      ++out_.sizes_corrected;
      corrections_.push_back({life.begin, at->second->size.value - life.size.value});
      life.size = at->second->size;
    }
  }
  // Corrected sizes from the snapshot hold since the start of their blocks.
  void settle_totals() {
    std::ranges::sort(corrections_);
    std::int64_t sum = 0;
    std::size_t next = 0;
    for (std::size_t p = 0; p < out_.live.size(); ++p) {
      while (next < corrections_.size() && corrections_[next].first <= p)
        sum += corrections_[next++].second;
      out_.live[p] += sum;
    }
  }

  const SnapshotDevice& device_;
  const AllocatorSettings& settings_;
  Segments segments_;
  Live live_;
  std::map<std::uint64_t, std::uint32_t> open_;  // address → index into out_.segments
  std::int64_t live_bytes_ = 0;
  std::int64_t requested_bytes_ = 0;
  std::int64_t reserved_bytes_ = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> corrections_;
  MemoryReplay out_;
};

}  // namespace

MemoryReplay replay_memory(const SnapshotDevice& device, const AllocatorSettings& settings) {
  return Replay(device, settings).run();
}

MemoryState state_at(const MemoryReplay& replay, std::uint32_t position) {
  MemoryState state;
  for (const BlockLife& life : replay.blocks) {
    if (life.begin > position) break;
    if (position < life.end) state.blocks.push_back(&life);
  }
  for (const SegmentLife& life : replay.segments) {
    if (life.begin > position) break;
    if (position < life.end) state.segments.push_back(&life);
  }
  std::ranges::sort(state.blocks, {}, &BlockLife::address);
  std::ranges::sort(state.segments, {}, &SegmentLife::address);
  return state;
}

namespace {

// Pages of expandable segments.
constexpr std::int64_t small_page = std::int64_t{2} << 20U;
constexpr std::int64_t large_page = std::int64_t{20} << 20U;

// Calls block(block) for the blocks in segments, and gap(segment, begin, size, used) between them;
// `begin` is an offset into the segment. Returns the number of blocks outside all segments.
template <class Gap, class Block>
std::uint64_t walk(const MemoryState& state, Gap gap, Block block) {
  std::uint64_t outside = 0;
  std::size_t next = 0;
  for (const SegmentLife* s : state.segments) {
    const std::uint64_t end = s->address + static_cast<std::uint64_t>(s->size.value);
    for (; next < state.blocks.size() && state.blocks[next]->address < s->address; ++next)
      ++outside;
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
