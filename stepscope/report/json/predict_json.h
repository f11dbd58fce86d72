// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope predict` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/predict.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json predict_tree(const PredictResult& result);
// The parts of a memory by name, and their total.
[[nodiscard]] Json memory_tree(const Memory& memory);
// The interval of the step, and the share of runs whose step lies in it.
[[nodiscard]] Json interval_tree(const StepCost& cost);

}  // namespace stepscope
