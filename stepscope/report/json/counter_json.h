// SPDX-License-Identifier: Apache-2.0
// The figures of hardware counters in the JSON of `analyze`.
#pragma once

#include "stepscope/diagnose/analysis.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// `counters`: what was recorded, and the switches that would record the rest.
[[nodiscard]] Json counters_json(const Analysis& report);

}  // namespace stepscope
