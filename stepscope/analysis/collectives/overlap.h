// SPDX-License-Identifier: Apache-2.0
// The communication hidden behind computation, the step's time if all or none of it were hidden,
// and the cost of hiding for the kernels that share the device. C and M are the unions of compute
// and communication of a step, T its wall time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/collectives/collective_times.h"
#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

// Sums over the steps of one rank.
struct Overlap {
  std::optional<double> ratio;  // |C ∩ M| / |M|
  std::optional<double>
      efficiency;        // |C ∩ M| / min(|C|, |M|), of the possible overlap; absent if that is 0
  Ns compute{};          // |C|
  Ns comm{};             // |M|, includes waits for peers
  Ns overlap{};          // |C ∩ M|
  Ns step{};             // T
  Ns no_overlap{};       // T + |C ∩ M|
  Ns perfect_overlap{};  // T − |C ∪ M| + max(|C|, |M|)
  // A bound by the order of the step. Even with perfect overlap the first communication needs the
  // computation before it, and the last communication follows the work before it: T − |C ∪ M| +
  // max(|C|, |M|, C before the first + |M|, C before the last + M from it on). Between
  // perfect_overlap and T. Absent in a CPU-only trace.
  std::optional<Ns> schedule_bound;
  std::vector<Contention> contention;  // most time lost first; empty without recorded shapes
};

// Absent if the steps have no communication.
[[nodiscard]] std::optional<Overlap> overlap(const Trace& trace, const RankIndex& rank,
                                             std::span<const Step> steps, const TimeBudget& budget);

// The exposed time of each communication call of a rank: the part that no compute hides, clipped to
// the call. On a device compute is every kernel of the same device except communication kernels.
// Without a device compute is as in the time budget (cpu_work.h).

// Parallel to `calls`. O((slices + calls) log slices).
[[nodiscard]] std::vector<Ns> exposed_times(const RankView& view,
                                            std::span<const CollectiveCall> calls);

}  // namespace stepscope
