// SPDX-License-Identifier: Apache-2.0
// The time budget of a rank by the work of its device: compute by the class of its kernels, exposed
// communication by its dimension of parallelism. Every instant counts once, as in the budget. If
// kernels of several classes run, the first class in the order of NameClass counts. Compute hides
// communication. Every kernel of the optimizer's phase counts as optimizer, whatever its name:
// foreach, compiled and matrix-product (Muon) optimizers run kernels of any name.
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
  // By NameClass; the sum is compute + comm_overlapped of the budget.
  std::array<Ns, name_class_count> compute{};
  // By Dimension; the sums are comm_exposed_transfer, _unsplit and _wait.
  std::array<Ns, dimension_count> transfer{};
  std::array<Ns, dimension_count> unsplit{};
  std::array<Ns, dimension_count> wait{};
};

// The inputs beside the trace. All must outlive the call.
struct ClassTimeInputs {
  const RankIndex& rank;
  std::span<const Step> steps;
  const HostPhases& phases;
  const CommSplit& split;
  const RankCalls& calls;                 // of this rank
  std::span<const Dimension> dimensions;  // by CollectiveCall::group
  const TimeBudget& budget;
};

// Parallel to the steps, for the budget's chosen device. Empty for a CPU-only trace, because its
// operators nest. O(N log N).
[[nodiscard]] std::vector<ClassTime> class_times(const Trace& trace, const ClassTimeInputs& inputs);

}  // namespace stepscope
