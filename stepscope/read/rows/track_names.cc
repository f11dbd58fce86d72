// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/track_names.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace stepscope {

std::size_t TrackKeyHash::operator()(const TrackKey& key) const {
  std::size_t h = key.device ? 1 : 2;
  const auto mix = [&](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ULL; };
  mix(static_cast<std::size_t>(key.pid.number));
  mix(index(key.pid.text));
  mix(static_cast<std::size_t>(key.tid.number));
  mix(index(key.tid.text));
  return h ^ h >> 32;
}

void name_tracks(Trace& trace, std::vector<TrackName>&& names) {
  std::ranges::sort(names, {}, &TrackName::byte);
  std::unordered_map<TrackKey, StringId, TrackKeyHash> processes;
  std::unordered_map<TrackKey, StringId, TrackKeyHash> threads;
  for (const TrackName& n : names) (n.thread ? threads : processes)[{n.pid, n.tid, false}] = n.name;
  for (Track& track : trace.tracks) {
    const RowId pid{track.pid, track.pid_text};
    if (const auto at = processes.find({pid, {}, false}); at != processes.end())
      track.process_name = at->second;
    if (const auto at = threads.find({pid, {track.tid, track.tid_text}, false});
        at != threads.end())
      track.thread_name = at->second;
  }
}

void order_tracks(Trace& trace) {
  std::vector<std::uint32_t> order(trace.tracks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    const Track& t = trace.tracks[i];
    return std::tuple(t.device, t.device_index, trace.strings[t.pid_text], t.pid,
                      trace.strings[t.tid_text], t.tid);
  });
  if (std::ranges::is_sorted(order)) return;
  std::vector<Track> tracks;
  std::vector<TrackId> place(order.size());
  for (const std::uint32_t i : order) {
    place[i] = TrackId{static_cast<std::uint32_t>(tracks.size())};
    tracks.push_back(trace.tracks[i]);
  }
  trace.tracks = std::move(tracks);
  for (TrackId& id : trace.slices.track) id = place[index(id)];
  for (TrackId& id : trace.memory.track) id = place[index(id)];
}

}  // namespace stepscope
