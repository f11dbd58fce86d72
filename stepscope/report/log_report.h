// SPDX-License-Identifier: Apache-2.0
// What a training job's log tells, for `stepscope check`: text and the `log` object of its JSON.
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/runs/log_account.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

[[nodiscard]] std::string log_text(const LogFacts& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json log_tree(const LogFacts& report);

}  // namespace stepscope
