// SPDX-License-Identifier: Apache-2.0
// Detail rows and collectives stay in the order of their part. Only slices, memory events and
// counters are put into the stretches' order, because their order matters when instants are equal.
#include "stepscope/event/join.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

// Merges the tracks of several traces of one rank. Equal pid, tid and device mean one track.
class TrackMap {
 public:
  // New tracks are appended to `tracks`, which must outlive this.
  explicit TrackMap(std::vector<Track>& tracks);
  // The id of each track of `more`. Its texts are mapped through `strings` (by StringId).
  std::vector<TrackId> add(const std::vector<Track>& more, const std::vector<StringId>& strings);

 private:
  struct Hash {
    std::size_t operator()(const Track& t) const;
  };
  struct Equal {
    bool operator()(const Track& a, const Track& b) const;
  };
  std::vector<Track>& tracks_;
  std::unordered_map<Track, TrackId, Hash, Equal> places_;
};

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

// Rows [first, first + count) of one table of a part, and their destination.
struct Rows {
  std::uint32_t part = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t to = 0;
};

std::vector<Rows> rows_of(std::span<const RowStretch> stretches, std::uint32_t RowStretch::* first,
                          std::vector<std::size_t> sizes) {
  std::vector<Rows> rows(stretches.size());
  for (std::size_t i = stretches.size(); i-- > 0;) {  // a stretch ends where the next begins
    const std::uint32_t begin = stretches[i].*first;
    std::size_t& end = sizes[stretches[i].part];
    check(begin <= end, "stretches of a part follow each other");
    rows[i] = {stretches[i].part, begin, static_cast<std::uint32_t>(end - begin), 0};
    end = begin;
  }
  check(std::ranges::all_of(sizes, [](std::size_t rest) { return rest == 0; }),
        "stretches cover all rows");
  std::uint32_t to = 0;
  for (Rows& r : rows) to = (r.to = to) + r.count;
  return rows;
}

// Puts a column (of the table that `table` names) into the order of `rows`; map(part, value).
template <class Table, class T, class Map>
void join_column(std::vector<Trace>& parts, Table Trace::* table, std::vector<T> Table::* column,
                 std::span<const Rows> rows, Map map) {
  std::vector<T> all;
  all.reserve(rows.empty() ? 0 : rows.back().to + rows.back().count);
  for (const Rows& r : rows) {
    const auto from = std::span((parts[r.part].*table).*column).subspan(r.first, r.count);
    std::ranges::transform(from, std::back_inserter(all),
                           [&](const T& value) { return map(r.part, value); });
  }
  for (Trace& part : parts) std::vector<T>().swap((part.*table).*column);
  (parts[0].*table).*column = std::move(all);
}

// New places of a part's slices. The stretches of a part are in ascending order.
class SlicePlaces {
 public:
  SlicePlaces(std::span<const Rows> rows, std::size_t parts) : by_part_(parts) {
    for (const Rows& r : rows) by_part_[r.part].push_back(r);
  }
  [[nodiscard]] SliceId operator()(std::uint32_t part, SliceId id) const {
    if (id == no_slice) return id;
    const auto behind = std::ranges::upper_bound(by_part_[part], index(id), {}, &Rows::first);
    const Rows& r = *std::prev(behind);
    return SliceId{r.to + (index(id) - r.first)};
  }

 private:
  std::vector<std::vector<Rows>> by_part_;
};

template <class T>
void concatenate(std::vector<T>& into, std::vector<T>& from) {
  into.insert(into.end(), from.begin(), from.end());
  std::vector<T>().swap(from);
}

template <class Text>
void concatenate_texts(std::vector<StringId>& into, std::vector<StringId>& from, Text text) {
  std::ranges::transform(from, std::back_inserter(into), text);
  std::vector<StringId>().swap(from);
}

// Adds the tables that keep their order: texts(into, from) for columns of texts, numbers(into,
// from) for the others.
template <class Texts, class Numbers>
void add_details(Trace& into, Trace& from, const Texts& texts, const Numbers& numbers) {
  texts(into.ops.input_dims, from.ops.input_dims);
  texts(into.ops.input_types, from.ops.input_types);
  texts(into.ops.concrete_inputs, from.ops.concrete_inputs);
  numbers(into.ops.sequence, from.ops.sequence);
  numbers(into.ops.forward_thread, from.ops.forward_thread);
  numbers(into.copies.bytes, from.copies.bytes);
  numbers(into.syncs.stream, from.syncs.stream);
  numbers(into.syncs.wait_on_stream, from.syncs.wait_on_stream);
  numbers(into.syncs.wait_on_record_correlation, from.syncs.wait_on_record_correlation);
}

void map_texts(Collective& c, const std::vector<StringId>& strings) {
  for (StringId* id : {&c.name, &c.dtype, &c.group_name, &c.group_description, &c.group_ranks,
                       &c.in_split, &c.out_split})
    *id = strings[index(*id)];
}

void join_collectives(std::vector<Trace>& parts, const std::vector<AbsorbMap>& maps,
                      const SlicePlaces& places) {
  std::vector<Collective> all;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    for (Collective c : parts[p].collectives) {
      c.slice = places(p, c.slice);
      map_texts(c, maps[p].strings);
      all.push_back(c);
    }
    std::vector<Collective>().swap(parts[p].collectives);
  }
  std::ranges::stable_sort(all, {}, [](const Collective& c) { return index(c.slice); });
  parts[0].collectives = std::move(all);
}

// Shifts the detail row numbers of part p by the number of rows in the parts before it.
void shift_details(std::vector<Trace>& parts) {
  DetailOffsets at;
  for (Trace& part : parts) {
    Slices& s = part.slices;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s.detail[i] != no_row) s.detail[i] += at.of(s.category[i]);
    }
    at.ops += static_cast<std::uint32_t>(part.ops.size());
    at.copies += static_cast<std::uint32_t>(part.copies.size());
    at.syncs += static_cast<std::uint32_t>(part.syncs.size());
  }
}

template <class Size>
std::vector<std::size_t> sizes_of(const std::vector<Trace>& parts, Size size) {
  std::vector<std::size_t> sizes;
  sizes.reserve(parts.size());
  for (const Trace& part : parts) sizes.push_back(size(part));
  return sizes;
}

// Reorders all columns, as tasks for parallel_for.
void join_rows(std::vector<Trace>& parts, std::span<const RowStretch> stretches,
               const std::vector<AbsorbMap>& maps, unsigned threads) {
  const auto slices = rows_of(stretches, &RowStretch::first_slice,
                              sizes_of(parts, [](const Trace& t) { return t.slices.size(); }));
  const auto memory = rows_of(stretches, &RowStretch::first_memory,
                              sizes_of(parts, [](const Trace& t) { return t.memory.size(); }));
  const auto counters = rows_of(stretches, &RowStretch::first_counter,
                                sizes_of(parts, [](const Trace& t) { return t.counters.size(); }));
  const SlicePlaces places(slices, parts.size());
  join_collectives(parts, maps, places);
  shift_details(parts);

  const auto same = [](std::uint32_t, const auto& value) { return value; };
  const auto text = [&](std::uint32_t p, StringId id) { return maps[p].strings[index(id)]; };
  const auto track = [&](std::uint32_t p, TrackId id) { return maps[p].tracks[index(id)]; };
  std::vector<std::function<void()>> columns;
  const auto add = [&](auto table, auto column, const std::vector<Rows>& rows, const auto& map) {
    columns.emplace_back(
        [&parts, table, column, &rows, map] { join_column(parts, table, column, rows, map); });
  };
  add(&Trace::slices, &Slices::start, slices, same);
  add(&Trace::slices, &Slices::dur, slices, same);
  add(&Trace::slices, &Slices::name, slices, text);
  add(&Trace::slices, &Slices::track, slices, track);
  add(&Trace::slices, &Slices::category, slices, same);
  add(&Trace::slices, &Slices::correlation, slices, same);
  add(&Trace::slices, &Slices::external_id, slices, same);
  add(&Trace::slices, &Slices::detail, slices, same);
  add(&Trace::memory, &MemoryEvents::time, memory, same);
  add(&Trace::memory, &MemoryEvents::track, memory, track);
  add(&Trace::memory, &MemoryEvents::address, memory, same);
  add(&Trace::memory, &MemoryEvents::bytes, memory, same);
  add(&Trace::memory, &MemoryEvents::total_allocated, memory, same);
  add(&Trace::memory, &MemoryEvents::total_reserved, memory, same);
  add(&Trace::memory, &MemoryEvents::device, memory, same);
  add(&Trace::counters, &Counters::time, counters, same);
  add(&Trace::counters, &Counters::metric, counters, text);
  add(&Trace::counters, &Counters::value, counters, same);
  add(&Trace::counters, &Counters::slice, counters, places);
  parallel_for(columns.size(), threads, [&](std::size_t c) { columns[c](); });
}

}  // namespace

Joined join(std::vector<Trace>&& parts, std::span<const RowStretch> stretches, unsigned threads) {
  check(!parts.empty(), "there is something to join");
  std::vector<AbsorbMap> maps;
  TrackMap tracks(parts[0].tracks);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    AbsorbMap map;
    if (p == 0) {
      for (std::uint32_t i = 0; i < parts[0].strings.size(); ++i)
        map.strings.push_back(StringId{i});
      for (std::uint32_t i = 0; i < parts[0].tracks.size(); ++i) map.tracks.push_back(TrackId{i});
    } else {
      map.strings = parts[0].strings.merge(parts[p].strings);
      map.tracks = tracks.add(parts[p].tracks, map.strings);
      parts[0].notes.merge(parts[p].notes);
    }
    maps.push_back(std::move(map));
  }
  join_rows(parts, stretches, maps, threads);
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const auto text = [&](StringId id) { return maps[p].strings[index(id)]; };
    add_details(
        parts[0], parts[p], [&](auto& into, auto& from) { concatenate_texts(into, from, text); },
        [](auto& into, auto& from) { concatenate(into, from); });
  }
  return {std::move(parts[0]), std::move(maps)};
}

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

}  // namespace

AbsorbMap absorb(Trace& into, Trace&& from) {
  AbsorbMap map{into.strings.merge(from.strings), {}};
  map.tracks = TrackMap(into.tracks).add(from.tracks, map.strings);
  const auto text = [&](StringId id) { return map.strings[index(id)]; };
  const auto first = static_cast<std::uint32_t>(into.slices.size());
  const auto moved = [&](SliceId id) { return id == no_slice ? id : SliceId{index(id) + first}; };

  for (Collective c : from.collectives) {
    c.slice = moved(c.slice);
    map_texts(c, map.strings);
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
  add_details(
      into, from, [&](auto& a, auto& b) { map_column(a, b, text); },
      [](auto& a, auto& b) { move_column(a, b); });
  into.notes.merge(from.notes);
  return map;
}

}  // namespace stepscope
