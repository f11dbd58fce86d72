// SPDX-License-Identifier: Apache-2.0
// Raw events → the columns of a trace: one sink a worker, joined afterwards. Instants stay as in
// the file (without baseTimeNanoseconds, which may stand behind the events) until finish().
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/event/trace.h"
#include "stepscope/read/event_fields.h"

namespace stepscope {

class EventSink {
 public:
  EventSink();
  // `byte`: where the event begins in the inflated text, for notes.
  void add(const RawEvent& event, std::uint64_t byte);
  void note(const char* reason, std::uint64_t byte) { trace_.notes.add(reason, byte); }

  // The text ends inside an event that begins at `byte`.
  void truncated(std::uint64_t byte) {
    trace_.notes.truncated = true;
    note("truncated_event", byte);
  }

  // Takes over all that another sink of the same file gathered.
  void absorb(EventSink&& other);
  // Pairs B with E, names the tracks, and hands the trace over, unsealed.
  Trace finish();

 private:
  struct Id {  // a pid or tid: a number, or a text
    std::int64_t number = 0;
    StringId text = empty_string;
    bool operator==(const Id&) const = default;
  };
  struct TrackKey {
    Id pid;
    Id tid;
    bool device = false;
    bool operator==(const TrackKey&) const = default;
  };
  struct TrackKeyHash {
    std::size_t operator()(const TrackKey& key) const;
  };
  struct Name {  // process_name, thread_name
    Id pid;
    Id tid;
    StringId name = empty_string;
    bool thread = false;
  };
  struct Edge {  // a B or E event
    Ns time{};
    std::uint64_t byte = 0;
    TrackId track{};
    StringId name = empty_string;
    Category category = Category::other;
    bool begin = false;
  };

  void add_complete(const RawEvent& event, std::uint64_t byte);
  void add_edge(const RawEvent& event, std::uint64_t byte, bool begin);
  void add_metadata(const RawEvent& event);
  void add_memory(const RawEvent& event, std::uint64_t byte);
  void add_counter(const RawEvent& event, std::uint64_t byte);
  void add_collective(const RawEvent& event, SliceId slice);
  std::uint32_t add_detail(const RawEvent& event, Category category, StringId name);
  void add_range_metrics(const RawEvent& event, SliceId slice, Ns time);
  void pair_edges();
  void name_tracks();

  std::optional<Ns> time_of(const RawEvent& event, std::uint64_t byte);
  Category category_of(const RawEvent& event, std::string_view name, const Id& pid);
  TrackId track_of(const RawEvent& event, Category category, const Id& pid);
  Id id_of(const RawEvent& event, Field field);
  StringId text_of(const RawEvent& event, Field field);
  bool keeps_concrete_inputs(StringId name);

  Trace trace_;
  std::vector<Name> names_;
  std::vector<Edge> edges_;
  std::unordered_map<TrackKey, TrackId, TrackKeyHash> track_ids_;
  TrackKey last_key_;
  TrackId last_track_{};
  std::vector<std::int8_t> concrete_;    // by name: 1 keep, 0 drop, -1 not looked at
  std::string_view last_category_text_;  // the previous event's; points into the pool
  Category last_category_ = Category::other;
};

}  // namespace stepscope
