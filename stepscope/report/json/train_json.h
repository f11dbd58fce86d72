// SPDX-License-Identifier: Apache-2.0
// A run of training as JSON (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/train/train_result.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json train_tree(const TrainResult& result);
// Its `isolation`.
[[nodiscard]] Json isolation_tree(const TrainIsolation& isolation);

}  // namespace stepscope
