// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/budget/gpu_window.h"

#include "stepscope/analysis/steps/interval_sweep.h"

namespace stepscope {
namespace {

enum WindowLayer : std::size_t { window_compute, window_comm, window_copy, window_layers };

WindowLayer layer_of(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::kernel) return window_copy;
  return trace.is_communication(op) ? window_comm : window_compute;
}

GpuWindow window_of(const Trace& trace, const DeviceLane& lane) {
  IntervalSweep<window_layers> sweep;
  sweep.reserve(lane.ops.size());
  for (const SliceId op : lane.ops)
    if (!trace.is_wait(op))
      sweep.add(layer_of(trace, op), trace.slices.start[index(op)], trace.slices.end(op));
  GpuWindow w;
  w.device = lane.device;
  w.start = lane.start;
  w.end = lane.end;
  sweep.run(lane.start, lane.end, [&](Ns start, Ns end, const auto& open) {
    const Ns length = end - start;
    if (open[window_compute] > 0) w.compute += length;
    if (open[window_comm] > 0) w.comm += length;
    if (open[window_copy] > 0) w.copy += length;
    if (open[window_compute] > 0 && open[window_comm] > 0) w.overlap += length;
    const bool any = open[window_compute] > 0 || open[window_comm] > 0 || open[window_copy] > 0;
    (any ? w.busy : w.idle) += length;
  });
  return w;
}

}  // namespace

std::vector<GpuWindow> gpu_windows(const Trace& trace, const RankIndex& rank) {
  std::vector<GpuWindow> windows;
  windows.reserve(rank.devices.size());
  for (const DeviceLane& lane : rank.devices) windows.push_back(window_of(trace, lane));
  return windows;
}

}  // namespace stepscope
