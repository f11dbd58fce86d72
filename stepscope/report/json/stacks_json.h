// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope stacks` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/stacks.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json stacks_tree(const StacksResult& report);
// Its `trace`; null without one.
[[nodiscard]] Json stacks_trace_json(const StacksResult& report);

}  // namespace stepscope
