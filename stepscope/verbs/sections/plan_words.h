// SPDX-License-Identifier: Apache-2.0
// Plans, and the terms of a predicted step, for people.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepscope/base/collective_kind.h"
#include "stepscope/cost/layer/layer_table.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/say/message.h"

namespace stepscope {

// For people, where the enumeration's name is for programs.
[[nodiscard]] std::string_view words_of(StepTerm term);
// The same for this model, whose layers may scan states instead of attending to keys.
[[nodiscard]] std::string_view words_of(StepTerm term, const Transformer& model);
[[nodiscard]] std::string_view words_of(MemoryTerm term);
// "each device lacks 3.2 GB and 12 GB of host memory"; empty where it fits.
[[nodiscard]] Message words_of(const Shortage& lacks);
// "TP 8 · PP 16 (1F1B) · DP 8, ZeRO-1 · 12 micro-batches of 1 × 2048".
[[nodiscard]] Message plan_in_words(const Plan& plan);
// The sides of the tensor layout's grid, if it is not square or a cube: "4 × 2"; else empty.
[[nodiscard]] std::string grid_in_words(const Plan& plan);
// "all_gather + reduce_scatter"; empty without any.
[[nodiscard]] std::string collectives_in_words(std::span<const CollectiveKind> kinds);
// The tiers of links that the calls use: "domain", "network", both, or empty without a call.
[[nodiscard]] std::string tiers_in_words(const PassRow& pass);
// A plan as short as a table needs it: "tp4+sp pp4 interleaved×24 dp64 zero3/32 3×8 full".
[[nodiscard]] std::string plan_in_brief(const Plan& plan);

// "80 % interval of the step: 8.1 s to 12.3 s (...)."
[[nodiscard]] Message interval_in_words(const StepCost& cost);

}  // namespace stepscope
