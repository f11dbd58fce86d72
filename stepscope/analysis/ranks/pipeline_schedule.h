// SPDX-License-Identifier: Apache-2.0
// Schedules of a pipeline and what they leave idle where all stages take as long: with p stages, m
// micro-batches and v chunks of the model a stage, each stage idles (p − 1)/(m v) of the time of
// its passes, for GPipe (Huang et al. 2019 §2.3) and 1F1B (Narayanan et al. 2021 §2.2.1) with v =
// 1, and interleaved (§2.2.2). A zero-bubble schedule looks like 1F1B here: weight gradients that
// fill the bubble make the measured one smaller than this.
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
// As sentences write it: "GPipe", "1F1B", "interleaved"; "unknown order".
[[nodiscard]] std::string_view words_of(PipelineSchedule schedule);

// How many forward passes a stage had done when its first backward began.
struct StageWarmUp {
  int stage = 0;
  int forwards = 0;
};

// By the number of forwards in front of the first backward: all m v of them for GPipe,
// min(m, p − s) on stage s for 1F1B, min(m v, 2 (p − 1 − s) + (v − 1) p + 1) interleaved. A receive
// that was posted early counts one more: that much is forgiven. GPipe where both are the same.
[[nodiscard]] PipelineSchedule recognise_schedule(int stages, int micro_batches, int chunks,
                                                  std::span<const StageWarmUp> stages_seen);

// What a stage idles in a step by the formula: (stages − 1) / passes of `work`, the time of its
// passes; `passes`: m v.
[[nodiscard]] Ns bubble_by_schedule(int stages, int passes, Ns work);

}  // namespace stepscope
