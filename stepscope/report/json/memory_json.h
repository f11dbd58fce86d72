// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope memory` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/memory.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json memory_tree_json(const MemoryResult& result);

}  // namespace stepscope
