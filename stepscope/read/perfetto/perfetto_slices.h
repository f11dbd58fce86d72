// SPDX-License-Identifier: Apache-2.0
// Begins and ends of slices on the tracks of a Perfetto trace → how long each slice lasted. By the
// format an end closes the innermost slice of its track in the order of time. PyTorch writes all
// begins of a kind of activity and then all their ends in the same order (torch.profiler's
// .pftrace), rocprofv3 each begin with its end, in any order: those are paired one to one, which
// keeps slices apart that meet or overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

class PerfettoSlices {
 public:
  void begin(std::uint32_t track, Ns time, std::uint32_t slice, std::uint64_t byte) {
    add({time, byte, track, slice});
  }
  void end(std::uint32_t track, Ns time, std::uint64_t byte) { add({time, byte, track, no_row}); }

  // Sets the durations of the slices that began. An end without any begin is noted and dropped;
  // what stays open ends with the last begin or end of its track, and is noted.
  void pair(Trace& trace);

 private:
  struct Edge {
    Ns time{};
    std::uint64_t byte = 0;
    std::uint32_t track = 0;
    std::uint32_t slice = no_row;  // no_row: an end
    [[nodiscard]] bool begins() const { return slice != no_row; }
  };
  void add(const Edge& edge);
  // Begins and as many ends of the same tracks, in this order: edges_[first, first + 2 count).
  struct Run {
    std::size_t first = 0;
    std::size_t count = 0;
    bool in_order = true;  // of time, on every track: then it may as well nest as the format says
  };
  [[nodiscard]] std::vector<Run> runs() const;
  [[nodiscard]] bool matches(Run& run) const;
  static void close(const Edge& begin, const Edge& end, Trace& trace);
  static void pair_track(std::vector<Edge>& edges, Trace& trace);

  std::vector<Edge> edges_;
};

}  // namespace stepscope
