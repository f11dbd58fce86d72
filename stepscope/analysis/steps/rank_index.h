// SPDX-License-Identifier: Apache-2.0
// The basis of nearly every question about one rank: its device operations in time order, the
// launch of each operation, and the main host thread. Built once per trace and passed beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// All device work of one GPU over all its streams.
struct DeviceLane {
  int device = -1;
  std::vector<SliceId>
      ops;     // kernels, copies and memsets by start; they may overlap, even on one stream
  Ns start{};  // start of the first operation
  Ns end{};    // end of the operation that ends last
};

struct RankIndex {
  std::vector<DeviceLane> devices;  // by device index; only those with work
  // By slice id after `first_device`: the runtime or driver call that launched a device slice,
  // joined by correlation within the file. no_slice for host slices and for work whose launch is
  // not in the trace. All kernels of one CUDA-graph launch share its call. Empty if the trace has
  // no device work.
  std::vector<SliceId> launch_of;
  std::uint32_t first_device = 0;    // slice id of the first row of a device
  std::vector<TrackId> host_tracks;  // threads with at least one host row
  // The thread of the ProfilerSteps; else the thread with most operator time outside the backward
  // graph; else the thread with most time in ranges and calls of the device's runtime.
  std::optional<TrackId> main_track;
  Ns start{};  // first start and last end of any slice
  Ns end{};

  // Kernels were launched, but the trace has no row of any: the device was not recorded.
  bool device_unseen = false;

  [[nodiscard]] bool cpu_only() const { return devices.empty(); }
  [[nodiscard]] SliceId launch(SliceId op) const {
    const std::uint32_t at = index(op) - first_device;  // wraps for rows before it
    return at < launch_of.size() ? launch_of[at] : no_slice;
  }
};

[[nodiscard]] RankIndex index_rank(const Trace& trace);

}  // namespace stepscope
