// SPDX-License-Identifier: Apache-2.0
// The phases of the steps of a table: which takes most, and how much of the communication is behind
// computation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/read/log/step_parts.h"
#include "stepscope/verbs/check/check_line.h"

namespace stepscope {

struct PhaseRow {
  std::string name;
  StepPartKind kind = StepPartKind::other;
  std::size_t count = 0;             // steps of ranks that have it
  double mean_ns = 0;                // a step, over all steps
  std::optional<double> stdev_ns{};  // over the steps that have it; absent for one
  double max_ns = 0;
  double share = 0;  // of the mean step
};

// Computation (with the optimizer) and communication, mean a step. The step takes at most their sum
// and at least the longer of both, if nothing else is in it; what lacks of the sum is overlap.
struct OverlapOfTimes {
  double computation_ns = 0;
  double communication_ns = 0;
  // (computation + communication - step) / the shorter of both, in [0, 1]. Absent if the step is
  // shorter than one of them.
  std::optional<double> efficiency{};
};

struct PhaseTimes {
  std::vector<PhaseRow> rows{};  // most time first
  double step_ns = 0;            // mean
  bool summed = false;           // the step is the sum of the phases
  // Absent if the table has no times of steps, or other phases than computation and
  // communication.
  std::optional<OverlapOfTimes> overlap{};
};

// Over the steps from `counted_from` on; absent: all. Absent without a phase.
[[nodiscard]] std::optional<PhaseTimes> phase_times(const StepParts& parts,
                                                    std::optional<std::int64_t> counted_from);

// "phases", and "overlap" if there is one.
[[nodiscard]] std::vector<CheckLine> phase_lines(const PhaseTimes& times);

}  // namespace stepscope
