// SPDX-License-Identifier: Apache-2.0
// Tracks of a Perfetto trace → rows of ours (protos/perfetto/trace/track_event/
// track_descriptor.proto). A track of a thread is that thread; a track inside a thread's belongs to
// its thread; one inside a process is a row of that process: the stream N where it is called so or
// where its description is "tid N", as our own writer describes them, else one by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

struct PerfettoTrack {
  // As described.
  std::uint64_t parent = 0;
  std::optional<std::int64_t> process;  // its pid
  std::optional<std::int64_t> thread_process;
  std::optional<std::int64_t> thread;
  std::string name;
  std::optional<std::int64_t> row;  // N of a description "tid N"
  bool is_counter = false;
  bool incremental = false;
  double unit = 1;
  // As resolved.
  std::string pid_text;
  std::string tid_text;
  ValueKind pid_kind = ValueKind::scalar;
  ValueKind tid_kind = ValueKind::scalar;
  std::string process_name;
  std::string thread_name;
  std::string known_as;        // all four, as they were last given out
  std::uint64_t resolved = 0;  // the tracks' generation
  // Kept by the reader.
  std::uint32_t number = 0;  // of the track, in the order that they were met
  double sum = 0;            // of an incremental counter

  [[nodiscard]] RawValue pid() const;
  [[nodiscard]] RawValue tid() const;
};

class PerfettoTracks {
 public:
  // Takes a TrackDescriptor; it replaces what was described before.
  void describe(std::string_view message);
  // The track, resolved; `fresh` says that its ids or names changed since it was last asked for. It
  // stays where it is. Null where there are too many (2^18) already.
  PerfettoTrack* find(std::uint64_t uuid, bool& fresh);

 private:
  PerfettoTrack* track_of(std::uint64_t uuid);
  void resolve(PerfettoTrack& track, std::uint64_t uuid);

  std::unordered_map<std::uint64_t, PerfettoTrack> tracks_;
  std::uint64_t generation_ = 1;
};

}  // namespace stepscope
