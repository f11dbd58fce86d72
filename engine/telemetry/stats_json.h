// SPDX-License-Identifier: Apache-2.0
// A summary as JSON: the object `stats` of `stepscope train --json` (docs/reference/json/train.md),
// for any trainer.
#pragma once

#include <string>

#include "engine/telemetry/zero3_performance_stats.h"

namespace stepscope {

// One object on one line. Absent values are null.
[[nodiscard]] std::string stats_json(const PerformanceSummary& summary);

}  // namespace stepscope
