// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/gpu_window.h"

#include "stepscope/analysis/interval_sweep.h"

namespace stepscope {
namespace {

enum Layer : std::size_t { compute, comm, copy, layer_count };

Layer layer_of(const Trace& trace, SliceId op) {
  if (trace.slices.category[index(op)] != Category::kernel) return copy;
  return trace.is_communication(op) ? comm : compute;
}

GpuWindow window_of(const Trace& trace, const DeviceLane& lane) {
  IntervalSweep<layer_count> sweep;
  sweep.reserve(lane.ops.size());
  for (const SliceId op : lane.ops)
    sweep.add(layer_of(trace, op), trace.slices.start[index(op)], trace.slices.end(op));
  GpuWindow w;
  w.device = lane.device;
  w.start = lane.start;
  w.end = lane.end;
  sweep.run(lane.start, lane.end, [&](Ns start, Ns end, const auto& open) {
    const Ns length = end - start;
    if (open[compute] > 0) w.compute += length;
    if (open[comm] > 0) w.comm += length;
    if (open[copy] > 0) w.copy += length;
    if (open[compute] > 0 && open[comm] > 0) w.overlap += length;
    const bool any = open[compute] > 0 || open[comm] > 0 || open[copy] > 0;
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
