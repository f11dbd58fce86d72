// SPDX-License-Identifier: Apache-2.0
// Schedules of a pipeline and their idle time if all stages take equally long. With p stages, m
// micro-batches and v chunks of the model per stage, each stage idles (p − 1)/(m v) of the time of
// its passes: GPipe (Huang et al. 2019 §2.3) and 1F1B (Narayanan et al. 2021 §2.2.1) with v = 1,
// and interleaved (§2.2.2). A zero-bubble schedule looks like 1F1B here: weight gradients fill the
// bubble, so the measured bubble is smaller than this value.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "stepscope/base/quantity.h"

namespace stepscope {

enum class PipelineSchedule : std::uint8_t { unknown, gpipe, one_f_one_b, interleaved };
inline constexpr std::array<std::string_view, 4> pipeline_schedule_names = {"unknown", "gpipe",
                                                                            "1f1b", "interleaved"};
static_assert(pipeline_schedule_names[static_cast<std::size_t>(PipelineSchedule::interleaved)] ==
              "interleaved");
// Name for sentences: "GPipe", "1F1B", "interleaved"; "unknown order".
[[nodiscard]] std::string_view words_of(PipelineSchedule schedule);

// The number of forward passes a stage had done when its first backward began.
struct StageWarmUp {
  int stage = 0;
  int forwards = 0;
};

// Recognises the schedule by the number of forwards before the first backward. GPipe: m v. 1F1B:
// min(m, p − s) on stage s. Interleaved: min(m v, 2 (p − 1 − s) + (v − 1) p + 1). A receive that
// was posted early adds one, so a deviation of one is accepted. GPipe if both are equal.
[[nodiscard]] PipelineSchedule recognise_schedule(int stages, int micro_batches, int chunks,
                                                  std::span<const StageWarmUp> stages_seen);

// The idle time of a stage per step by the formula (stages − 1) / passes of `work`. `work` is the
// time of its passes; `passes` is m v.
[[nodiscard]] Ns bubble_by_schedule(int stages, int passes, Ns work);

}  // namespace stepscope
