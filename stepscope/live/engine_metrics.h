// SPDX-License-Identifier: Apache-2.0
// The OpenMetrics text of `stepscope train --metrics` (docs/reference/telemetry.md), read again and
// again: differences of its counters are the steps since the last reading, and each rank's own work
// in them (its wall time without waits for collectives).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {

struct EngineMetrics {
  std::int64_t steps = 0;
  double wall_s = 0;
  std::map<int, double> own_s{};  // by rank
};

// Errors: not this text, or a part of it.
[[nodiscard]] Result<EngineMetrics> parse_engine_metrics(std::string_view text);

// The steps between two readings. Absent without a new step, or if counters went back (the job was
// restarted).
struct EngineSteps {
  std::int64_t steps = 0;
  double step_ns = 0;
  std::vector<float> own_ns{};  // by rank, a step; NaN: unknown
};
[[nodiscard]] std::optional<EngineSteps> steps_between(const EngineMetrics& before,
                                                       const EngineMetrics& after);

}  // namespace stepscope
