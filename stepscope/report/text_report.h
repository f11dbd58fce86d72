// SPDX-License-Identifier: Apache-2.0
// The terminal face: the answer and the account on the first screen, then tables.
#pragma once

#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

[[nodiscard]] std::string analyze_text(const Analysis& report, const TextOptions& options = {});

}  // namespace stepscope
