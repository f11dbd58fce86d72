// SPDX-License-Identifier: Apache-2.0
#include "stepscope/event/absorb.h"

#include <algorithm>
#include <utility>

#include "stepscope/event/track_map.h"

namespace stepscope {
namespace {

template <class T>
void move_column(std::vector<T>& into, std::vector<T>& from) {
  if (into.empty()) {
    into = std::move(from);
  } else {
    into.reserve(into.size() + from.size());
    into.insert(into.end(), from.begin(), from.end());
  }
  std::vector<T>().swap(from);
}

template <class T, class Map>
void map_column(std::vector<T>& into, std::vector<T>& from, Map map) {
  std::ranges::transform(from, from.begin(), map);
  move_column(into, from);
}

void absorb_slices(Slices& into, Slices& from, const AbsorbMap& map, const DetailOffsets& offsets) {
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from.detail[i] != no_row) from.detail[i] += offsets.of(from.category[i]);
  move_column(into.detail, from.detail);
  map_column(into.name, from.name, [&](StringId id) { return map.strings[index(id)]; });
  map_column(into.track, from.track, [&](TrackId id) { return map.tracks[index(id)]; });
  move_column(into.start, from.start);
  move_column(into.dur, from.dur);
  move_column(into.category, from.category);
  move_column(into.correlation, from.correlation);
  move_column(into.external_id, from.external_id);
}

void absorb_details(Trace& into, Trace& from, const std::vector<StringId>& strings) {
  const auto text = [&](StringId id) { return strings[index(id)]; };
  map_column(into.ops.input_dims, from.ops.input_dims, text);
  map_column(into.ops.input_types, from.ops.input_types, text);
  map_column(into.ops.concrete_inputs, from.ops.concrete_inputs, text);
  move_column(into.ops.sequence, from.ops.sequence);
  move_column(into.ops.forward_thread, from.ops.forward_thread);
  move_column(into.copies.bytes, from.copies.bytes);
  move_column(into.syncs.stream, from.syncs.stream);
  move_column(into.syncs.wait_on_stream, from.syncs.wait_on_stream);
  move_column(into.syncs.wait_on_record_correlation, from.syncs.wait_on_record_correlation);
}

}  // namespace

AbsorbMap absorb(Trace& into, Trace&& from) {
  AbsorbMap map{into.strings.merge(from.strings), {}};
  map.tracks = TrackMap(into.tracks).add(from.tracks, map.strings);
  const auto text = [&](StringId id) { return map.strings[index(id)]; };
  const auto first = static_cast<std::uint32_t>(into.slices.size());
  const auto moved = [&](SliceId id) { return id == no_slice ? id : SliceId{index(id) + first}; };

  for (Collective c : from.collectives) {
    c.slice = moved(c.slice);
    for (StringId* id : {&c.name, &c.dtype, &c.group_name, &c.group_description, &c.group_ranks,
                         &c.in_split, &c.out_split})
      *id = text(*id);
    into.collectives.push_back(c);
  }
  map_column(into.counters.slice, from.counters.slice, moved);
  map_column(into.counters.metric, from.counters.metric, text);
  move_column(into.counters.time, from.counters.time);
  move_column(into.counters.value, from.counters.value);
  map_column(into.memory.track, from.memory.track,
             [&](TrackId id) { return map.tracks[index(id)]; });
  move_column(into.memory.time, from.memory.time);
  move_column(into.memory.address, from.memory.address);
  move_column(into.memory.bytes, from.memory.bytes);
  move_column(into.memory.total_allocated, from.memory.total_allocated);
  move_column(into.memory.total_reserved, from.memory.total_reserved);
  move_column(into.memory.device, from.memory.device);

  const DetailOffsets offsets{static_cast<std::uint32_t>(into.ops.size()),
                              static_cast<std::uint32_t>(into.copies.size()),
                              static_cast<std::uint32_t>(into.syncs.size())};
  absorb_slices(into.slices, from.slices, map, offsets);
  absorb_details(into, from, map.strings);
  into.notes.merge(from.notes);
  return map;
}

}  // namespace stepscope
