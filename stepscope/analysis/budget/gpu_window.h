// SPDX-License-Identifier: Apache-2.0
// What each GPU of a rank did between its first and its last operation: unions of intervals over
// all its streams, so that overlapping kernels count once.
#pragma once

#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct GpuWindow {
  int device = -1;
  Ns start{};    // of the first operation
  Ns end{};      // of the last to end
  Ns compute{};  // at least one kernel that is no communication; copy kernels are compute
  Ns comm{};     // at least one communication kernel
  Ns copy{};     // at least one memcpy or memset row
  Ns overlap{};  // compute and communication at once
  Ns busy{};     // any of the three
  Ns idle{};     // none: busy + idle = end - start
};

// One for each GPU with work, in the order of `rank.devices`; empty for a CPU-only trace.
[[nodiscard]] std::vector<GpuWindow> gpu_windows(const Trace& trace, const RankIndex& rank);

}  // namespace stepscope
