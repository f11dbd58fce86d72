// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope stacks` (docs/reference/json/stacks.md).
#pragma once

#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/verbs/stacks/stacks.h"

namespace stepscope {

[[nodiscard]] Json stacks_tree(const StacksResult& report);
// Its `trace`; null without one.
[[nodiscard]] Json stacks_trace_json(const StacksResult& report);

// threads, phases, functions.
[[nodiscard]] std::vector<TreeTable> stacks_tables(const Json& tree);

}  // namespace stepscope
