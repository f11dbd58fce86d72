// SPDX-License-Identifier: Apache-2.0
// Converts raw events to the columns of a trace. Each worker has one sink; the sinks are joined
// afterwards. Until finish(), instants are as in the file, without baseTimeNanoseconds, which may
// follow the events.
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
  // Whether a profiler could have taken this instant (as in the file).
  [[nodiscard]] static bool in_range(Ns time);
  // Adds a reading of a counter, or of the profiler range `slice`.
  void add_reading(Ns time, std::string_view metric, double value, SliceId slice = no_slice);

  // Reserves space for `slices` in all, so that growing columns are not copied and their pages not
  // touched twice.
  void reserve(std::size_t slices);
  [[nodiscard]] std::size_t slices() const { return trace_.slices.size(); }

  // Notes that the text ends inside an event that begins at `byte`.
  void truncated(std::uint64_t byte) {
    trace_.notes.truncated = true;
    note("truncated_event", byte);
  }

  // Whether any row has a category (`cat`).
  [[nodiscard]] bool categorized() const { return categorized_; }

  // Starts a chunk of the file. Chunks are numbered in file order.
  void begin_chunk(std::uint64_t number);
  // Joins the sinks that read the chunks of one file, as if one sink had read them in order.
  // REQUIRES: begin_chunk() was the first call on each.
  static EventSink join(std::vector<EventSink>&& parts, unsigned threads);
  // Pairs B with E, names the tracks, and returns the unsealed trace.
  Trace finish();

 private:
  using Id = RowId;
  struct Origin {  // the first event of a track, and its device
    std::uint64_t byte = 0;
    std::int32_t device_index = -1;
  };
  // Start of a chunk's rows.
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

  // False, with a note, if the event has no instant that can be read.
  bool read_time(const RawEvent& event, std::uint64_t byte, Ns& into);
  // An integer within ±`most`; otherwise `absent`, with a note.
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
  std::vector<std::int8_t> concrete_;    // by name: 1 keep, 0 drop, -1 unknown
  std::string_view last_category_text_;  // the previous event's; points into the pool
  Category last_category_ = Category::other;
  bool categorized_ = false;
  std::vector<char> list_room_;  // for a list without its line breaks
};

}  // namespace stepscope
