// SPDX-License-Identifier: Apache-2.0
// What people and programs see of replayed changes: the public JSON
// (docs/reference/json/whatif.md), its table, the answer.
#pragma once

#include <vector>

#include "stepscope/face/help/answer.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/verbs/analyze/whatif.h"

namespace stepscope {

[[nodiscard]] Json whatif_tree(const WhatIfResult& result);

// scenarios.
[[nodiscard]] std::vector<TreeTable> whatif_tables(const Json& tree);
// The answer of the verb. Its exit code shows a replay that answers nothing.
[[nodiscard]] Answer whatif_answer(WhatIfResult result);

}  // namespace stepscope
