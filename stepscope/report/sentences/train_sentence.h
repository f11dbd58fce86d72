// SPDX-License-Identifier: Apache-2.0
// What is said of a trained network.
#pragma once

#include "engine/train/train_result.h"
#include "stepscope/say/message.h"

namespace stepscope {

// "A step takes 81.2 ms: 12.6 k tokens/s, 61.3 % MFU; loss 5.54 → 2.31 in 40 steps."
[[nodiscard]] Message train_sentence(const TrainResult& result);
// The verdict over the recorded steps, or why there is none. Empty where one rank has no fault.
[[nodiscard]] Message train_verdict_sentence(const TrainResult& result);

}  // namespace stepscope
