// SPDX-License-Identifier: Apache-2.0
// A run of training as JSON (docs/reference/json.md).
#pragma once

#include "engine/train/train_result.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json train_tree(const TrainResult& result);
// What a page of it draws: of many steps the longest of each few in turn, and of these only the
// times that are not 0. `drawn` says how many there were: {of_steps, every}.
[[nodiscard]] Json train_page_tree(Json tree);
// Its `isolation`.
[[nodiscard]] Json isolation_tree(const TrainIsolation& isolation);

}  // namespace stepscope
