// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/memory_shortage.h"

#include <algorithm>

namespace stepscope {
namespace {

bool gives_back(AllocatorAction action) {
  return action == AllocatorAction::segment_free || action == AllocatorAction::segment_unmap;
}
bool takes(AllocatorAction action) {
  return action == AllocatorAction::segment_alloc || action == AllocatorAction::segment_map;
}

// An event that neither gives nor takes memory.
bool is_remark(AllocatorAction action) {
  return action == AllocatorAction::snapshot || action == AllocatorAction::other;
}

SegmentRetries find_retries(const SnapshotDevice& device) {
  SegmentRetries out;
  const auto& events = device.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!gives_back(events[i].action)) continue;
    const AllocatorEvent& first = events[i];
    std::uint64_t segments = 0;
    Bytes bytes{};
    for (; i < events.size() && (gives_back(events[i].action) || is_remark(events[i].action)); ++i)
      if (gives_back(events[i].action)) {
        ++segments;
        bytes += events[i].size;
      }
    const AllocatorEvent* const next = i < events.size() ? &events[i] : nullptr;
    const bool wanted =
        next != nullptr && (takes(next->action) || next->action == AllocatorAction::oom);
    const bool told = wanted && first.stack != 0 && next->stack != 0;
    if (!wanted || (told && first.stack != next->stack)) {
      ++out.emptied;
      continue;
    }
    ++out.count;
    out.segments += segments;
    out.bytes += bytes;
    if (told) ++out.certain;
    if (next->time > first.time && first.time > Ns{}) out.total += next->time - first.time;
  }
  return out;
}

OutOfMemory shortage(const AllocatorEvent& e, std::uint32_t position, const MemoryState& state) {
  OutOfMemory oom;
  oom.position = position;
  oom.request = e.size;
  constexpr std::uint64_t most = std::uint64_t{1} << 60U;
  oom.device_free = Bytes{static_cast<std::int64_t>(std::min(e.address, most))};
  oom.stack = e.stack;
  oom.fragments = memory_fragments(state, position);
  oom.fit = memory_fit(state, e.size, e.stream, e.pool);
  const Bytes own = oom.fit.free_usable + oom.device_free;
  const Bytes all = oom.fragments.free() + oom.device_free;
  if (own >= oom.request)
    oom.verdict = OomVerdict::fragmented;
  else if (all >= oom.request)
    oom.verdict = OomVerdict::streams;
  else if (all + oom.fragments.pending >= oom.request)
    oom.verdict = OomVerdict::pending;
  if (all < oom.request) oom.missing = oom.request - all;
  return oom;
}

}  // namespace

void find_shortages(const SnapshotDevice& device, const MemoryReplay& replay,
                    DeviceMemoryAccount& account) {
  account.retries = find_retries(device);
  for (std::uint32_t i = 0; i < device.events.size(); ++i) {
    if (device.events[i].action != AllocatorAction::oom) continue;
    ++account.oom_count;
    if (account.ooms.size() < most_ooms)
      account.ooms.push_back(shortage(device.events[i], i, state_at(replay, i)));
  }
}

}  // namespace stepscope
