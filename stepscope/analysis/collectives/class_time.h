// SPDX-License-Identifier: Apache-2.0
// The time budget of a rank by what its device does: compute by the class of its kernels, exposed
// communication by the dimension of parallelism it serves. Every instant counts once, as in the
// budget: where kernels of several classes run, the first class in the order of NameClass has it;
// compute hides communication. What a kernel of the optimizer's phase does is the optimizer's,
// whatever its name: foreach, compiled and matrix-product (Muon) optimizers run kernels of any
// name.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/steps/comm_split.h"
#include "stepscope/analysis/steps/host_phases.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct ClassTime {
  // By NameClass; their sum is compute + comm_overlapped of the budget.
  std::array<Ns, name_class_count> compute{};
  // By Dimension; their sums are comm_exposed_transfer, _unsplit and _wait.
  std::array<Ns, dimension_count> transfer{};
  std::array<Ns, dimension_count> unsplit{};
  std::array<Ns, dimension_count> wait{};
};

// What is needed beside the trace. All outlives the call.
struct ClassTimeInputs {
  const RankIndex& rank;
  std::span<const Step> steps;
  const HostPhases& phases;
  const CommSplit& split;
  const RankCalls& calls;                 // of this rank
  std::span<const Dimension> dimensions;  // by CollectiveCall::group
  const TimeBudget& budget;
};

// Parallel to the steps, of the device that the budget chose. Empty for a CPU-only trace, whose
// operators nest. O(N log N).
[[nodiscard]] std::vector<ClassTime> class_times(const Trace& trace, const ClassTimeInputs& inputs);

}  // namespace stepscope
