// SPDX-License-Identifier: Apache-2.0
// The work of each GPU of a rank between its first and its last operation. Times are unions of
// intervals over all streams, so overlapping kernels count once. Kernels that wait count as idle.
#pragma once

#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct GpuWindow {
  int device = -1;
  Ns start{};    // start of the first operation
  Ns end{};      // end of the operation that ends last
  Ns compute{};  // at least one kernel other than communication runs; copy kernels are compute
  Ns comm{};     // at least one communication kernel runs
  Ns copy{};     // at least one memcpy or memset row runs
  Ns overlap{};  // compute and communication run at once
  Ns busy{};     // any of compute, comm, copy
  Ns idle{};     // none of them: busy + idle = end - start
};

// One entry for each GPU with work, in the order of `rank.devices`. Empty for a CPU-only trace.
[[nodiscard]] std::vector<GpuWindow> gpu_windows(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
