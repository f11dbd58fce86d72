// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope predict` (docs/reference/json/predict.md).
#pragma once

#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/verbs/predict/predict.h"

namespace stepscope {

[[nodiscard]] Json predict_tree(const PredictResult& result);
// The parts of a memory by name, and their total.
[[nodiscard]] Json memory_tree(const Memory& memory);
// The interval of the step, and the share of runs whose step lies in it.
[[nodiscard]] Json interval_tree(const StepCost& cost);

// terms, memory, layers, layer_sums, the tables of a layer by other conventions (attention,
// feed_forward; the last row is the sum), and comparison where there is one.
[[nodiscard]] std::vector<TreeTable> predict_tables(const Json& tree);

}  // namespace stepscope
