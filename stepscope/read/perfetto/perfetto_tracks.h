// SPDX-License-Identifier: Apache-2.0
// Maps tracks of a Perfetto trace to rows
// (protos/perfetto/trace/track_event/track_descriptor.proto). A thread's track is that thread, and
// so is a track inside it. A track inside a process is a row of that process: stream N if it has
// that name or the description "tid N" (our own writer's), else a row with its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "stepscope/read/rows/event_fields.h"

namespace stepscope {

struct PerfettoTrack {
  // As described in the file.
  std::uint64_t parent = 0;
  std::optional<std::int64_t> process;  // its pid
  std::optional<std::int64_t> thread_process;
  std::optional<std::int64_t> thread;
  std::string name;
  std::optional<std::int64_t> row;  // N from a description "tid N"
  bool is_counter = false;
  bool incremental = false;
  double unit = 1;
  // Resolved from the track and its parents.
  std::string pid_text;
  std::string tid_text;
  ValueKind pid_kind = ValueKind::scalar;
  ValueKind tid_kind = ValueKind::scalar;
  std::string process_name;
  std::string thread_name;
  std::string known_as;        // all four, as last returned
  std::uint64_t resolved = 0;  // generation of the tracks
  // State that the reader keeps.
  std::uint32_t number = 0;  // index of the track in order of appearance
  double sum = 0;            // of an incremental counter
  bool is_of_findings = false;

  [[nodiscard]] RawValue pid() const;
  [[nodiscard]] RawValue tid() const;
};

class PerfettoTracks {
 public:
  // Applies a TrackDescriptor; it replaces an earlier description.
  void describe(std::string_view message);
  // The resolved track, at a stable address. `fresh` is set if its ids or names changed since the
  // last call. Null if there are too many tracks (2^18).
  PerfettoTrack* find(std::uint64_t uuid, bool& fresh);

 private:
  PerfettoTrack* track_of(std::uint64_t uuid);
  void resolve(PerfettoTrack& track, std::uint64_t uuid);

  std::unordered_map<std::uint64_t, PerfettoTrack> tracks_;
  std::uint64_t generation_ = 1;
};

}  // namespace stepscope
