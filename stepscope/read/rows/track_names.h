// SPDX-License-Identifier: Apache-2.0
// Names of processes and threads from metadata events; the order of tracks.
#pragma once

#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// A pid or tid: a number or a text.
struct RowId {
  std::int64_t number = 0;
  StringId text = empty_string;
  bool operator==(const RowId&) const = default;
};

// The identity of a track.
struct TrackKey {
  RowId pid;
  RowId tid;
  bool device = false;
  bool operator==(const TrackKey&) const = default;
};
struct TrackKeyHash {
  std::size_t operator()(const TrackKey& key) const;
};

// A process_name or thread_name event.
struct TrackName {
  RowId pid;
  RowId tid;  // of a thread_name
  StringId name = empty_string;
  std::uint64_t byte = 0;  // of the event in the file: the last one counts
  bool thread = false;
};

void name_tracks(Trace& trace, std::vector<TrackName>&& names);

// Sorts the tracks of an unsealed trace, independent of the order of their rows: host first, then
// by device, pid, tid and their texts.
void order_tracks(Trace& trace);

}  // namespace stepscope
