// SPDX-License-Identifier: Apache-2.0
// `stepscope predict` for the terminal.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/verbs/predict/predict.h"

namespace stepscope {

struct PredictTextOptions {
  TextOptions text{};
  bool layers = false;
};

[[nodiscard]] std::string predict_text(const PredictResult& result,
                                       const PredictTextOptions& options = {});

}  // namespace stepscope
