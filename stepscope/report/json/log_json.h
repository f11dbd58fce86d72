// SPDX-License-Identifier: Apache-2.0
// What a training job's log tells, as JSON: `log` of `stepscope check` (docs/reference/json.md).
#pragma once

#include "stepscope/fit/log_rates.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

[[nodiscard]] Json log_tree(const LogFacts& report);

}  // namespace stepscope
