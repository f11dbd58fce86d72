// SPDX-License-Identifier: Apache-2.0
// Why one plan is faster than another: their terms against each other, and that in a sentence.
#pragma once

#include <string>
#include <vector>

#include "stepscope/cost/step/step_cost.h"

namespace stepscope {

// Seconds that `slow` spends on a term beyond `fast`; negative where it spends fewer.
struct TermGain {
  StepTerm term{};
  double seconds = 0;
};

// Terms that differ by more than 1e-9 of the step, the largest difference first.
[[nodiscard]] std::vector<TermGain> term_gains(const StepCost& fast, const StepCost& slow);

// "1.90 s of pipeline bubble and 800 ms of recomputation; it spends 300 ms more on data-parallel
// communication": what is saved as far as it makes most of the difference, then what is paid.
[[nodiscard]] std::string gains_in_words(const StepCost& fast, const StepCost& slow);

// The terms side by side with their differences, and the steps; a table for a terminal.
[[nodiscard]] std::string difference_table(const StepCost& best, const StepCost& other,
                                           const std::string& other_title);

}  // namespace stepscope
