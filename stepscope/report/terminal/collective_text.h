// SPDX-License-Identifier: Apache-2.0
// `stepscope predict --collective` for the terminal: every algorithm's time over a range of sizes,
// and where the best one changes.
#pragma once

#include <string>

#include "stepscope/pipeline/predict_collective.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string collective_text(const PredictCollectiveResult& result,
                                          const TextOptions& options = {});

}  // namespace stepscope
