// SPDX-License-Identifier: Apache-2.0
// How much of the time the GPUs of a run were in use, by nvidia-smi's or DCGM's own figure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stepscope/analysis/ranks/gpu_match.h"
#include "stepscope/event/gpu_log.h"

namespace stepscope {

// Shares of the time in which at least one kernel ran ("utilization.gpu"), however small the
// kernel.
struct GpuUse {
  std::size_t gpus = 0;
  std::size_t readings = 0;
  double mean = 0;        // each GPU counts alike
  double least = 0;       // of the GPU below
  int least_gpu = -1;     // its rank, or nvidia-smi's index; -1: the log has no index
  bool of_steps = false;  // in the recorded steps only, else in the whole log
};

// In the recorded steps of the ranks whose GPU a log has. Absent: no reading of utilization.
[[nodiscard]] std::optional<GpuUse> gpu_use_of_steps(const GpuEvidence& evidence);
// In all readings of the logs. Absent: as above.
[[nodiscard]] std::optional<GpuUse> gpu_use_of_logs(std::span<const GpuLog> logs);

}  // namespace stepscope
