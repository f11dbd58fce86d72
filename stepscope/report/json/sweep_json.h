// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope sweep` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/sweep.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json sweep_tree(const SweepResult& report);

}  // namespace stepscope
