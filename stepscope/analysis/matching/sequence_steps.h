// SPDX-License-Identifier: Apache-2.0
// Places the calls of one communicator by the numbered steps that launched them. All ranks run the
// same program, so the k-th call of step n on one rank is the k-th call of step n on the others,
// whatever their clocks say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

struct StepItem {
  std::optional<std::int64_t> step{};  // number of the step that launched the call
  Ns end{};                            // of the call
};

// By sequence and item: the place among all calls of the steps, ascending; absent for calls outside
// the steps, and for steps in which the sequence has another number of calls than most. Absent as a
// whole if most calls find no place, or if the ends of two sequences lie further apart than a
// quarter of `step_length` in the median: then the numbers mean different steps.
[[nodiscard]] std::optional<std::vector<std::vector<std::optional<std::int64_t>>>> places_by_step(
    std::span<const std::vector<StepItem>> sequences, Ns step_length);

// Number of the annotated step that launched a call; absent outside of numbered steps.
[[nodiscard]] std::optional<std::int64_t> launching_step(const RankView& view,
                                                         const CollectiveCall& call);

}  // namespace stepscope
