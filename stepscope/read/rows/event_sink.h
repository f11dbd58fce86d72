// SPDX-License-Identifier: Apache-2.0
// Raw events → the columns of a trace: one sink a worker, joined afterwards. Instants stay as in
// the file (without baseTimeNanoseconds, which may stand behind the events) until finish().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/event/join.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/rows/event_edges.h"
#include "stepscope/read/rows/event_fields.h"
#include "stepscope/read/rows/track_names.h"

namespace stepscope {

class EventSink {
 public:
  EventSink();
  // `byte`: where the event begins in the inflated text, for notes.
  void add(const RawEvent& event, std::uint64_t byte);
  void note(const char* reason, std::uint64_t byte) { trace_.notes.add(reason, byte); }
  [[nodiscard]] ImportNotes& notes() { return trace_.notes; }
  // Whether an instant as in the file is one that a profiler could have taken.
  [[nodiscard]] static bool in_range(Ns time);
  // A reading of a counter, or of the profiler range `slice`.
  void add_reading(Ns time, std::string_view metric, double value, SliceId slice = no_slice);

  // Room for `slices` in all, so that columns that grow are not copied and their pages not touched
  // twice.
  void reserve(std::size_t slices);
  [[nodiscard]] std::size_t slices() const { return trace_.slices.size(); }

  // The text ends inside an event that begins at `byte`.
  void truncated(std::uint64_t byte) {
    trace_.notes.truncated = true;
    note("truncated_event", byte);
  }

  // What follows comes from this chunk of the file (they are numbered in its order).
  void begin_chunk(std::uint64_t number);
  // One sink of all that several gathered from the chunks of one file, as if one had read them in
  // order. REQUIRES: begin_chunk() was called before all else on each.
  static EventSink join(std::vector<EventSink>&& parts, unsigned threads);
  // Pairs B with E, names the tracks, and hands the trace over, unsealed.
  Trace finish();

 private:
  using Id = RowId;
  struct Origin {  // the first event of a track, and the device that it names
    std::uint64_t byte = 0;
    std::int32_t device_index = -1;
  };
  // A chunk's rows begin here.
  struct Mark {
    std::uint64_t chunk = 0;
    RowStretch rows;
  };

  void add_complete(const RawEvent& event, std::uint64_t byte);
  void add_edge(const RawEvent& event, std::uint64_t byte, bool begin);
  void add_metadata(const RawEvent& event, std::uint64_t byte);
  void add_memory(const RawEvent& event, std::uint64_t byte);
  void add_counter(const RawEvent& event, std::uint64_t byte);
  void add_collective(const RawEvent& event, SliceId slice, std::uint64_t byte);
  std::uint32_t add_detail(const RawEvent& event, Category category, StringId name,
                           std::uint64_t byte);
  void add_range_metrics(const RawEvent& event, SliceId slice, Ns time);

  std::optional<Ns> time_of(const RawEvent& event, std::uint64_t byte);
  // An integer that is no larger than `most` either way; `absent`, and a note, where it is.
  std::int64_t size_of(const RawEvent& event, Field field, std::int64_t most, std::uint64_t byte,
                       std::int64_t absent = -1);
  Category category_of(const RawEvent& event, std::string_view name, const Id& pid);
  TrackId track_of(const RawEvent& event, Category category, const Id& pid, std::uint64_t byte);
  TrackId add_track(const RawEvent& event, const TrackKey& key, std::uint64_t byte);
  Id id_of(const RawEvent& event, Field field);
  Id stream_of(const RawEvent& event);
  StringId text_of(const RawEvent& event, Field field);
  bool keeps_concrete_inputs(StringId name);

  Trace trace_;
  std::vector<TrackName> names_;
  std::vector<Edge> edges_;
  std::vector<Mark> marks_;
  std::unordered_map<TrackKey, TrackId, TrackKeyHash> track_ids_;
  std::vector<Origin> origins_;  // by track
  TrackKey last_key_;
  TrackId last_track_{};
  std::vector<std::int8_t> concrete_;    // by name: 1 keep, 0 drop, -1 not looked at
  std::string_view last_category_text_;  // the previous event's; points into the pool
  Category last_category_ = Category::other;
};

}  // namespace stepscope
