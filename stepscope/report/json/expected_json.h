// SPDX-License-Identifier: Apache-2.0
// Expected beside measured as JSON (docs/reference/json.md).
#pragma once

#include "stepscope/diagnose/analysis.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// Null where nothing is expected.
[[nodiscard]] Json expected_json(const Analysis& report);

}  // namespace stepscope
