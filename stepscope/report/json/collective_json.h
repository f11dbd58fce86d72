// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope predict --collective` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/predict_collective.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json collective_tree(const PredictCollectiveResult& result);

}  // namespace stepscope
