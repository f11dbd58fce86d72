// SPDX-License-Identifier: Apache-2.0
// What a prediction says: the step, and what is taken for granted.
#pragma once

#include <string>
#include <vector>

#include "stepscope/pipeline/predict.h"

namespace stepscope {

// "A step takes 12.3 s: 41.2 % MFU …, most of it matrix products (52 %)."
[[nodiscard]] std::string predict_sentence(const PredictResult& result);
// What is taken for granted, and which plan would fit where this one does not.
[[nodiscard]] std::vector<std::string> predict_warnings(const PredictResult& result);

}  // namespace stepscope
