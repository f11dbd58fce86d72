// SPDX-License-Identifier: Apache-2.0
// `stepscope predict` for the terminal.
#pragma once

#include <string>

#include "stepscope/pipeline/predict.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

struct PredictTextOptions {
  TextOptions text{};
  bool layers = false;
};

[[nodiscard]] std::string predict_text(const PredictResult& result,
                                       const PredictTextOptions& options = {});

}  // namespace stepscope
