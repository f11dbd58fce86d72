// SPDX-License-Identifier: Apache-2.0
// The answer of a run of training in one sentence.
#pragma once

#include <string>

#include "stepscope/pipeline/train/train_result.h"

namespace stepscope {

// "A step takes 81.2 ms: 12.6 k tokens/s, 61.3 % MFU; loss 5.54 → 2.31 in 40 steps."
[[nodiscard]] std::string train_sentence(const TrainResult& result);

// The verdict over the recorded steps, or why there is none. Empty where one rank has no fault.
[[nodiscard]] std::string train_verdict_sentence(const TrainResult& result);

}  // namespace stepscope
