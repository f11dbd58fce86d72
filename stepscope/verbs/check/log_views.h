// SPDX-License-Identifier: Apache-2.0
// The account of a job's log: its JSON and its text.
#pragma once

#include <string>

#include "stepscope/face/text/text_options.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/fit/log_rates.h"

namespace stepscope {

[[nodiscard]] Json log_tree(const LogFacts& report);

[[nodiscard]] std::string log_text(const LogFacts& report, const TextOptions& options = {});

}  // namespace stepscope
