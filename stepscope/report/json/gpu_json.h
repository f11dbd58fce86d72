// SPDX-License-Identifier: Apache-2.0
// The readings of GPUs and the figures of their hardware counters in the JSON of `analyze`.
#pragma once

#include "stepscope/analysis/runs/job.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/diagnose/clock_cause.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

// `gpu_readings`; null without logs.
[[nodiscard]] Json gpu_readings_json(const JobResult& job);
// `clock` of a verdict; null where no clock was compared.
[[nodiscard]] Json clock_json(const std::optional<ClockCause>& cause);
// `counters`: what was recorded, and the switches that would record the rest.
[[nodiscard]] Json counters_json(const Analysis& report);

}  // namespace stepscope
