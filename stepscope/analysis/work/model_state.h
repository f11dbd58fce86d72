// SPDX-License-Identifier: Apache-2.0
// What a device keeps of the model from step to step, by the rows of a trace: how many weights have
// gradients, in which format, and what the optimizer keeps of each. It does not need the rows of
// the allocations, which are usually older than the recording.
//
//   weights    the inputs of AccumulateGrad in one backward of the last step, with their format
//   moments    two of each weight (three with amsgrad) for the family of Adam, by the name in
//              "Optimizer.step#AdamW.step" or by _fused_adamw_; in the format of its kernels, or of
//              addcdiv_
//   masters    one of each weight if that format is wider than the weights'
//   gradients  one of each weight in that format if the step zeroes a list of gradients instead of
//              freeing them
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/quantity.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct ModelState {
  std::int64_t elements = 0;  // of the weights with gradients
  Bytes weights{};
  Bytes masters{};    // 0: none
  Bytes gradients{};  // kept from step to step; 0: freed in each
  Bytes moments{};    // 0: the optimizer is of another family, or its format is not recorded
  [[nodiscard]] Bytes sum() const { return weights + masters + gradients + moments; }
};

// The bytes of each weight with gradients, largest first. Empty if the rows do not show them.
[[nodiscard]] std::vector<Bytes> weight_sizes(const Trace& trace, const RankIndex& rank,
                                              std::span<const Step> steps,
                                              std::span<const PhaseSpan> phases);

// Absent if the rows do not show the weights, or if each device may keep a part of them only: the
// trace has a scatter, gather or broadcast (ZeRO, FSDP, ZeroRedundancyOptimizer, and others).
[[nodiscard]] std::optional<ModelState> model_state(const Trace& trace, const RankIndex& rank,
                                                    std::span<const Step> steps,
                                                    std::span<const PhaseSpan> phases);

}  // namespace stepscope
