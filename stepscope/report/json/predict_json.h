// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope predict` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/predict.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json predict_tree(const PredictResult& result);
// The parts of a memory by name, and their total.
[[nodiscard]] Json memory_tree(const Memory& memory);

}  // namespace stepscope
