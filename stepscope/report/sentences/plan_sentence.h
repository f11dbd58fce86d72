// SPDX-License-Identifier: Apache-2.0
// What a search for plans says: the fastest plan, why it is faster than another, and how a plan of
// one's own does beside it.
#pragma once

#include <string>
#include <vector>

#include "stepscope/cost/step/step_cost.h"
#include "stepscope/pipeline/plan.h"

namespace stepscope {

// "The fastest plan takes 3.21 s a step: 45.1 % MFU (…)."; where nothing fits, the smallest count
// that does.
[[nodiscard]] std::string plan_sentence(const PlanResult& result);
// How the plan of one's own does, whether it fits, and why the fastest wins.
[[nodiscard]] std::string against_sentence(const PlanResult& result, const AgainstPlan& own);

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

}  // namespace stepscope
