// SPDX-License-Identifier: Apache-2.0
// Device rows of an export: kernels, copies, memsets, whole graphs, waits of streams, memory, and
// sampled metrics.
#pragma once

#include <span>

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// Kernels, copies, memsets and graphs. The first row of a process creates it.
void read_nsys_work(NsysExport& nsys, NsysProcesses& processes);
// For existing processes: waits of streams, allocations, metrics of the GPUs.
void read_nsys_waits(NsysExport& nsys, NsysProcesses& processes);
void read_nsys_memory(NsysExport& nsys, NsysProcesses& processes);
void read_nsys_metrics(NsysExport& nsys, NsysProcesses& processes);

// A CUDA device ordinal of a process.
struct NsysGpu {
  std::uint64_t global_pid = 0;  // 0 = all processes
  int ordinal = 0;
  std::int64_t gpu = 0;  // id in TARGET_INFO_GPU
  DeviceProperties properties;
};
[[nodiscard]] std::vector<NsysGpu> read_nsys_gpus(NsysExport& nsys);

}  // namespace stepscope
