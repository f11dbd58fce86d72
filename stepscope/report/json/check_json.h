// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope check` (docs/reference/json.md).
#pragma once

#include "stepscope/pipeline/check.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json check_tree(const CheckResult& report);

}  // namespace stepscope
