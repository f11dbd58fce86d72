// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/host_waits.h"

#include <array>
#include <optional>
#include <string_view>

#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// Runtime and driver calls that return after the device has finished something:
// cudaStreamSynchronize, hipDeviceSynchronize, cuEventSynchronize, zeEventHostSynchronize, SYCL's
// urQueueFinish; plain cudaMemcpy.
bool blocks(std::string_view call) {
  if (contains(call, "Synchronize") || contains(call, "QueueFinish") || contains(call, "EventWait"))
    return true;
  return contains(call, "Memcpy") && !contains(call, "Async");
}

// By call: true if it copied pageable memory. Such a call waits for its stream, asynchronous or
// not: it returns when a copy to the host is done, and when a copy to the device has been staged
// (CUDA Runtime API, "API synchronization behavior"). A small copy to the device is queued with the
// call, which has returned when it begins.
std::vector<bool> blocking_copies(const Trace& trace, const RankIndex& rank) {
  std::vector<bool> blocking;
  for (const DeviceLane& lane : rank.devices) {
    for (const SliceId op : lane.ops) {
      if (trace.slices.category[index(op)] != Category::memcpy) continue;
      const SliceId call = rank.launch(op);
      if (call == no_slice || trace.slices.end(call) <= trace.slices.start[index(op)]) continue;
      if (!contains(trace.name(op), "Pageable")) continue;
      blocking.resize(trace.slices.size());
      blocking[index(call)] = true;
    }
  }
  return blocking;
}

}  // namespace

std::vector<std::vector<HostSpan>> calls_during_copies(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::vector<std::vector<HostSpan>> spans(trace.tracks.size());
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops) {
      const SliceId call = rank.launch(op);
      if (s.category[index(op)] != Category::memcpy || call == no_slice) continue;
      const Ns start = std::max(s.start[index(call)], s.start[index(op)]);
      const Ns end = std::min(s.end(call), s.end(op));
      if (start < end) spans[index(s.track[index(call)])].push_back({start, end, call});
    }
  for (std::vector<HostSpan>& of_track : spans) std::ranges::sort(of_track, {}, &HostSpan::start);
  return spans;
}

void extend(std::vector<HostSpan>& spans, Ns start, Ns end, SliceId row) {
  if (start >= end) return;
  if (spans.empty() || start > spans.back().end) {
    spans.push_back({start, end, row});
  } else {
    spans.back().end = std::max(spans.back().end, end);
  }
}

std::vector<ThreadWaits> host_waits(const Trace& trace, const RankIndex& rank) {
  const std::vector<std::optional<Phase>> phases = phases_of_names(trace.strings);
  std::vector<bool> blocking_name(trace.strings.size());
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i)
    blocking_name[i] = blocks(trace.strings[StringId{i}]);
  const std::vector<bool> blocking_copy = blocking_copies(trace, rank);

  const Slices& s = trace.slices;
  std::vector<ThreadWaits> waits(trace.tracks.size());
  for (const TrackId id : rank.host_tracks) {
    ThreadWaits& thread = waits[index(id)];
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const Category c = s.category[i];
      if (!is_host(c) && c != Category::other) continue;
      const Ns end = s.start[i] + s.dur[i];
      const std::uint32_t name = index(s.name[i]);
      const bool call = c == Category::runtime || c == Category::driver;
      const bool sync =
          call && (blocking_name[name] || (!blocking_copy.empty() && blocking_copy[i]));
      if (sync) extend(thread.sync, s.start[i], end, SliceId{i});
      if (phases[name] == Phase::data) extend(thread.data, s.start[i], end, SliceId{i});
      extend(thread.present, s.start[i], end, SliceId{i});
    }
  }
  return waits;
}

}  // namespace stepscope
