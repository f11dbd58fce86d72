// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope hang` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/hang.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json hang_tree(const HangResult& result);

}  // namespace stepscope
