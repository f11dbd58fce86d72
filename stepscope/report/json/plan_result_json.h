// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope plan` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/plan.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json plan_tree(const PlanResult& result);

}  // namespace stepscope
