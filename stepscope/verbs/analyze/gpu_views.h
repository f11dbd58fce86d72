// SPDX-License-Identifier: Apache-2.0
// What logs of GPUs show of the recorded steps: JSON and text.
#pragma once

#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/diagnose/clock_cause.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// `gpu_readings`; null without logs.
[[nodiscard]] Json gpu_readings_json(const std::optional<GpuEvidence>& gpus,
                                     std::span<const RankResult> ranks);
// `clock` of a verdict; null where no clock was compared.
[[nodiscard]] Json clock_json(const std::optional<ClockCause>& cause);
// `counters`: what was recorded, and the switches that would record the rest.
[[nodiscard]] Json counters_json(const Analysis& report);

// One line a rank: its GPU's clock, power, temperature, and what limits its clock. Empty without
// logs that cover a rank.
[[nodiscard]] std::string gpu_readings_text(const std::optional<GpuEvidence>& gpus,
                                            std::size_t width);

// One line a rank with samples, then the longest kernels with counters of the first rank that has
// any. Empty without counters.
[[nodiscard]] std::string counters_text(std::span<const RankResult> ranks, std::size_t width);

}  // namespace stepscope
