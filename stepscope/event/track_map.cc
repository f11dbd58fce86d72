// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/track_map.h"

namespace stepscope {

std::size_t TrackMap::Hash::operator()(const Track& t) const {
  std::size_t h = t.device ? 1 : 2;
  const auto mix = [&](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ULL; };
  mix(static_cast<std::size_t>(t.pid));
  mix(static_cast<std::size_t>(t.tid));
  mix(index(t.pid_text));
  mix(index(t.tid_text));
  return h ^ h >> 32;
}

bool TrackMap::Equal::operator()(const Track& a, const Track& b) const {
  return a.pid == b.pid && a.tid == b.tid && a.device == b.device && a.pid_text == b.pid_text &&
         a.tid_text == b.tid_text;
}

TrackMap::TrackMap(std::vector<Track>& tracks) : tracks_(tracks) {
  for (std::uint32_t i = 0; i < tracks.size(); ++i) places_.try_emplace(tracks[i], TrackId{i});
}

std::vector<TrackId> TrackMap::add(const std::vector<Track>& more,
                                   const std::vector<StringId>& strings) {
  std::vector<TrackId> map;
  map.reserve(more.size());
  for (Track track : more) {
    for (StringId* id : {&track.pid_text, &track.tid_text, &track.process_name, &track.thread_name})
      *id = strings[index(*id)];
    const TrackId fresh{static_cast<std::uint32_t>(tracks_.size())};
    const auto [at, inserted] = places_.try_emplace(track, fresh);
    if (inserted) tracks_.push_back(track);
    map.push_back(at->second);
  }
  return map;
}

}  // namespace stepscope
