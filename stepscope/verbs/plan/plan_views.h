// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a search for plans: the fastest plan, why it is faster than
// another, and how a plan of one's own compares, as sentences, the public JSON
// (docs/reference/json/plan.md) with its tables, the terminal's text.
#pragma once

#include <string>
#include <vector>

#include "stepscope/cost/step/step_cost.h"
#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/plan/plan.h"

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

[[nodiscard]] Json plan_tree(const PlanResult& result);

// plans, pareto, rejected, sensitivity; by_devices and against where there are some.
[[nodiscard]] std::vector<TreeTable> plan_tables(const Json& tree);

struct PlanTextOptions {
  TextOptions text{};
  std::string framework{};  // whose flags for the best plan are shown ("Megatron-LM"), or empty
};

[[nodiscard]] std::string plan_text(const PlanResult& result, const PlanTextOptions& options = {});

}  // namespace stepscope
