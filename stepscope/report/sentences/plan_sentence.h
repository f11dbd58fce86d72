// SPDX-License-Identifier: Apache-2.0
// What a search for plans says: the fastest plan, why it is faster than another, and how a plan of
// one's own does beside it. What a prediction says.
#pragma once

#include <vector>

#include "stepscope/cost/step/step_cost.h"
#include "stepscope/pipeline/plan.h"
#include "stepscope/pipeline/predict.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "The fastest plan takes 3.21 s a step: 45.1 % MFU (…)."; where nothing fits, the smallest count
// that does.
[[nodiscard]] Message plan_sentence(const PlanResult& result);
// How the plan of one's own does, whether it fits, and why the fastest wins.
[[nodiscard]] Message against_sentence(const PlanResult& result, const AgainstPlan& own);

// Seconds that `slow` spends on a term beyond `fast`; negative where it spends fewer.
struct TermGain {
  StepTerm term{};
  double seconds = 0;
};

// Terms that differ by more than 1e-9 of the step, the largest difference first.
[[nodiscard]] std::vector<TermGain> term_gains(const StepCost& fast, const StepCost& slow);

// "1.90 s of pipeline bubble and 800 ms of recomputation; it spends 300 ms more on data-parallel
// communication": what is saved as far as it makes most of the difference, then what is paid.
[[nodiscard]] Message gains_in_words(const StepCost& fast, const StepCost& slow);

// "A step takes 12.3 s: 41.2 % MFU …, most of it matrix products (52 %)."
[[nodiscard]] Message predict_sentence(const PredictResult& result);
// What is taken for granted, and which plan would fit where this one does not.
[[nodiscard]] Messages predict_warnings(const PredictResult& result);

}  // namespace stepscope
