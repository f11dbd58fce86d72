// SPDX-License-Identifier: Apache-2.0
// `stepscope analyze` for the terminal: the answer and the account on the first screen, then
// tables, each left out where there is nothing to say.
#pragma once

#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/text/text_options.h"

namespace stepscope {

[[nodiscard]] std::string analyze_text(const Analysis& report, const TextOptions& options = {});

}  // namespace stepscope
