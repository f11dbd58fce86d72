// SPDX-License-Identifier: Apache-2.0
// The state of reading one Perfetto trace: packets in, columns out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/read/perfetto/perfetto_arguments.h"
#include "stepscope/read/perfetto/perfetto_clocks.h"
#include "stepscope/read/perfetto/perfetto_slices.h"
#include "stepscope/read/perfetto/perfetto_state.h"
#include "stepscope/read/perfetto/perfetto_tracks.h"
#include "stepscope/read/rows/event_sink.h"

namespace stepscope {

class PerfettoReading {
 public:
  // `byte`: position of the packet in the inflated file, for notes.
  void add(std::string_view packet, std::uint64_t byte);
  [[nodiscard]] ImportNotes& notes() { return sink_.notes(); }
  // Returns the unsealed trace. Slices have their durations, and instants count from the UNIX epoch
  // if the trace allows it.
  Trace finish();

 private:
  // The position of a packet's event.
  struct Place {
    std::uint64_t byte = 0;
    Ns time{};
    const PacketSequence* sequence = nullptr;
  };
  // Fields of a TrackEvent that are needed twice.
  struct TrackEvent {
    std::uint64_t type = 0;
    std::string_view name;
    std::string_view category;
    std::optional<std::uint64_t> track;
    std::optional<std::uint64_t> flow;
    double value = 0;
    std::vector<std::string_view> annotations;
  };
  struct RenderStage {
    std::uint64_t duration = 0;
    std::int64_t gpu = 0;
    std::string_view queue;
    std::string_view stage;
    std::string_view name;
  };

  void add_packet(std::string_view packet, std::uint64_t byte, bool inflated);
  bool place_of(const PacketHead& head, Place& place);
  void add_event(std::string_view message, const Place& place);
  void read_event(std::string_view message, const PacketSequence& sequence);
  void begin_slice(PerfettoTrack& track, const Place& place);
  void add_counter(PerfettoTrack& track, const Place& place);
  void add_arguments(const PerfettoTrack& track, const Place& place, std::string_view phase);
  void add_stage(std::string_view message, const Place& place);
  static RenderStage read_stage(std::string_view message, const PacketSequence& sequence,
                                const PacketSequences& sequences);
  void add_gpu_counters(std::string_view message, const Place& place);
  void name_row(RawValue pid, RawValue tid, std::string_view process, std::string_view thread,
                std::uint64_t byte);

  EventSink sink_;
  PacketSequences sequences_;
  PerfettoClocks clocks_;
  PerfettoTracks tracks_;
  PerfettoSlices slices_;
  PerfettoArguments arguments_{sequences_, sink_.notes()};
  TrackEvent event_;
  std::string rank_metadata_;  // of our own writer: a JSON array without its end
  std::set<std::string> named_queues_;
};

}  // namespace stepscope
