// SPDX-License-Identifier: Apache-2.0
// What logs of GPUs tell of a job's ranks.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/ranks/gpu_match.h"
#include "stepscope/analysis/ranks/gpu_state.h"

namespace stepscope {

struct GpuLogResult {
  std::string path;
  std::string format;
  std::size_t gpus = 0;
  std::size_t readings = 0;
  ImportNotes notes;
  std::vector<int> ranks;  // whose GPUs it tells of, ascending
  GpuLogUse use;
};

struct GpuOfRank {
  int rank = 0;
  std::size_t log = 0;  // row of GpuEvidence::logs
  GpuMatchRule rule = GpuMatchRule::index;
  LoggedGpu gpu;
  std::vector<GpuState> steps;  // parallel to the rank's steps
  GpuState whole;               // all of them
};

struct GpuEvidence {
  std::vector<GpuLogResult> logs;  // in the order of the inputs
  std::vector<GpuOfRank> ranks;    // ascending; only those with a GPU in a log
};

}  // namespace stepscope
