// SPDX-License-Identifier: Apache-2.0
// For tests: the whole content of a trace as text, with strings in place of ids, so that traces
// with different ids can be compared; and the invariants of every sealed trace.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

#include "stepscope/event/trace.h"

namespace stepscope::test {

class TraceText {
 public:
  explicit TraceText(const Trace& trace) : t_(trace) {}

  std::string text() {
    metadata();
    for (const Track& track : t_.tracks) add_track(track);
    for (std::size_t i = 0; i < t_.slices.size(); ++i) slice(i);
    for (const Collective& c : t_.collectives) collective(c);
    for (std::size_t i = 0; i < t_.memory.size(); ++i) memory(i);
    for (std::size_t i = 0; i < t_.counters.size(); ++i)
      line("counter", t_.counters.time[i].count(), name(t_.counters.metric[i]),
           t_.counters.value[i], index(t_.counters.slice[i]));
    return out_.str();
  }

 private:
  template <class... T>
  void line(const T&... parts) {
    ((out_ << parts << '|'), ...) << '\n';
  }
  [[nodiscard]] std::string_view name(StringId id) const { return t_.strings[id]; }

  void metadata() {
    const Metadata& m = t_.metadata;
    line("rank", m.rank.value_or(-1), m.world_size.value_or(-1), m.backend,
         static_cast<int>(m.clock), m.base.count(), m.text_bytes, m.devices.size(),
         m.groups.size());
    line("with", m.with_shapes.has_value(), m.with_stack.has_value(), m.with_memory.has_value());
    for (const auto& [key, value] : m.texts) line("text", key, value);
    line("notes", t_.notes.events, t_.notes.truncated);
    for (const auto& [reason, times] : t_.notes.counts)
      line("note", reason, times, t_.notes.first_byte.at(reason));
  }
  void add_track(const Track& t) {
    line("track", t.pid, t.tid, name(t.pid_text), name(t.tid_text), name(t.process_name),
         name(t.thread_name), t.device, t.device_index, t.first, t.count);
  }
  void slice(std::size_t i) {
    const Slices& s = t_.slices;
    const Category c = s.category[i];
    line("slice", index(s.track[i]), s.start[i].count(), s.dur[i].count(), name(s.name[i]),
         category_names[static_cast<std::size_t>(c)], s.correlation[i], s.external_id[i]);
    const std::uint32_t d = s.detail[i];
    if (d == no_row) return;
    if (c == Category::memcpy || c == Category::memset)
      line(" copy", t_.copies.bytes[d].value);
    else if (c == Category::sync)
      line(" sync", t_.syncs.stream[d], t_.syncs.wait_on_stream[d],
           t_.syncs.wait_on_record_correlation[d]);
    else
      line(" op", name(t_.ops.input_dims[d]), name(t_.ops.input_types[d]),
           name(t_.ops.concrete_inputs[d]), t_.ops.sequence[d], t_.ops.forward_thread[d]);
  }
  void collective(const Collective& c) {
    line("collective", index(c.slice), name(c.name), name(c.dtype), name(c.group_name),
         name(c.group_description), name(c.group_ranks), name(c.in_split), name(c.out_split),
         c.in_elements, c.out_elements, c.seq, c.group_size, c.global_rank_start,
         c.global_rank_stride, c.src_rank, c.dst_rank, c.is_async);
  }
  void memory(std::size_t i) {
    const MemoryEvents& m = t_.memory;
    line("memory", m.time[i].count(), index(m.track[i]), m.address[i], m.bytes[i].value,
         m.total_allocated[i].value, m.total_reserved[i].value, m.device[i]);
  }

  const Trace& t_;
  std::ostringstream out_;
};

inline std::string text_of(const Trace& trace) { return TraceText(trace).text(); }

// The first broken invariant of a sealed trace, or empty.
inline std::string broken_rule(const Trace& t) {
  const Slices& s = t.slices;
  std::uint32_t next = 0;
  for (std::size_t k = 0; k < t.tracks.size(); ++k) {
    const Track& track = t.tracks[k];
    if (track.first != next) return "tracks cover the slices one behind the other";
    next += track.count;
    for (std::uint32_t i = track.first; i < next; ++i) {
      if (i >= s.size() || index(s.track[i]) != k) return "a track's range holds its slices";
      if (i > track.first && (s.start[i] < s.start[i - 1] ||
                              (s.start[i] == s.start[i - 1] && s.dur[i] > s.dur[i - 1])))
        return "slices are sorted";
    }
  }
  if (next != s.size()) return "every slice is on a track";
  const auto strings = [&](StringId id) { return index(id) < t.strings.size(); };
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s.dur[i].count() < 0) return "durations are not negative";
    if (s.start[i] > Ns::max() - s.dur[i]) return "ends stay within 64 bits";
    if (!strings(s.name[i])) return "names are in the pool";
    const Category c = s.category[i];
    const std::size_t rows = c == Category::memcpy || c == Category::memset ? t.copies.size()
                             : c == Category::sync                          ? t.syncs.size()
                                                                            : t.ops.size();
    if (s.detail[i] != no_row && s.detail[i] >= rows) return "details exist";
  }
  for (std::size_t i = 0; i < t.collectives.size(); ++i)
    if (index(t.collectives[i].slice) >= s.size() ||
        (i > 0 && index(t.collectives[i].slice) <= index(t.collectives[i - 1].slice)))
      return "each slice has at most one collective, in their order";
  for (const SliceId id : t.counters.slice)
    if (id != no_slice && index(id) >= s.size()) return "counters belong to slices";
  for (const TrackId id : t.memory.track)
    if (index(id) >= t.tracks.size()) return "memory events are on tracks";
  if (!std::ranges::is_sorted(t.memory.time)) return "memory events are sorted";
  if (s.kind.size() != s.size()) return "every slice is classified";
  return {};
}

}  // namespace stepscope::test
