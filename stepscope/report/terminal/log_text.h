// SPDX-License-Identifier: Apache-2.0
// What a training job's log tells, for the terminal: a section of `stepscope check`.
#pragma once

#include <string>

#include "stepscope/fit/log_rates.h"
#include "stepscope/report/terminal/text_options.h"

namespace stepscope {

[[nodiscard]] std::string log_text(const LogFacts& report, const TextOptions& options = {});

}  // namespace stepscope
