// SPDX-License-Identifier: Apache-2.0
// The FLOPs of a step that backward computes again.
#pragma once

#include <cstdint>
#include <span>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// Matrix FLOPs per step, over all devices: counted in HFU and not in MFU. `stage_layers`: the
// layers of each stage.
[[nodiscard]] Flops recomputed_flops(const Transformer& model, const Plan& plan,
                                     std::span<const std::int64_t> stage_layers);

}  // namespace stepscope
