// SPDX-License-Identifier: Apache-2.0
// What people and programs see of a plan (`stepscope train --plan-only`): memory, communication,
// the order of a step, and the elements whose optimizer states each rank holds.
#pragma once

#include <string>
#include <vector>

#include "engine/train/train_result.h"
#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// REQUIRES of all: result.plan.

// docs/reference/json/train.md. The shards are those of all ranks if there are not too many rows,
// and if no rank was asked for.
[[nodiscard]] Json train_plan_tree(const TrainResult& result);
[[nodiscard]] std::vector<TreeTable> train_plan_tables(const Json& tree);
[[nodiscard]] std::string train_plan_text(const TrainResult& result,
                                          const TextOptions& options = {});

}  // namespace stepscope
