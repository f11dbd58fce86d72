// SPDX-License-Identifier: Apache-2.0
// How much communication hides behind computation, what hiding all or none of it would make of the
// step, and what hiding costs the kernels that share the device with it. C and M are the unions of
// compute and communication of a step, T its wall time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/collectives/contention.h"

namespace stepscope {

// Sums over the steps of one rank.
struct Overlap {
  std::optional<double> ratio;  // |C ∩ M| / |M|
  std::optional<double>
      efficiency;        // |C ∩ M| / min(|C|, |M|): of what could overlap; absent where that is 0
  Ns compute{};          // |C|
  Ns comm{};             // |M|, waits for peers included
  Ns overlap{};          // |C ∩ M|
  Ns step{};             // T
  Ns no_overlap{};       // T + |C ∩ M|
  Ns perfect_overlap{};  // T − |C ∪ M| + max(|C|, |M|)
  // Even with perfect overlap the first communication needs the computation before it, and the last
  // one follows what came before it: T − |C ∪ M| + max(|C|, |M|, C before the first + |M|, C before
  // the last + M from it on). Between perfect_overlap and T. Absent in a CPU-only trace.
  std::optional<Ns> schedule_bound;
  std::vector<Contention> contention;  // most time lost first; empty without recorded shapes
};

// Absent where the steps have no communication.
[[nodiscard]] std::optional<Overlap> overlap(const Trace& trace, const RankIndex& rank,
                                             std::span<const Step> steps, const TimeBudget& budget,
                                             std::size_t most_contended = 20);

}  // namespace stepscope
