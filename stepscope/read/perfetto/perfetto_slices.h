// SPDX-License-Identifier: Apache-2.0
// Computes slice durations from begins and ends on the tracks of a Perfetto trace. By the format an
// end closes the innermost slice of its track in time order. PyTorch (torch.profiler's .pftrace)
// writes all begins of a kind of activity and then all their ends in the same order. rocprofv3
// writes each begin with its end, in any order. Those are paired one to one, so slices that meet or
// overlap stay separate.
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

  // Sets the durations of the slices. An end without a begin is noted and dropped. An open slice
  // ends with the last begin or end of its track, and is noted.
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
  // A run of begins and an equal number of ends of the same tracks, in this order: edges_[first,
  // first + 2 count).
  struct Run {
    std::size_t first = 0;
    std::size_t count = 0;
    bool in_order = true;  // in time order on every track; such a run may be nested
  };
  [[nodiscard]] std::vector<Run> runs() const;
  [[nodiscard]] bool matches(Run& run) const;
  static void close(const Edge& begin, const Edge& end, Trace& trace);
  static void pair_track(std::vector<Edge>& edges, Trace& trace);

  std::vector<Edge> edges_;
};

}  // namespace stepscope
