// SPDX-License-Identifier: Apache-2.0
// What a prediction says.
#pragma once

#include "stepscope/say/message.h"
#include "stepscope/verbs/predict/predict.h"

namespace stepscope {

// "A step takes 12.3 s: 41.2 % MFU …, most of it matrix products (52 %)."
[[nodiscard]] Message predict_sentence(const PredictResult& result);
// What is taken for granted, and which plan would fit where this one does not.
[[nodiscard]] Messages predict_warnings(const PredictResult& result);

}  // namespace stepscope
