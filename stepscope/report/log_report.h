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

struct LogReport {
  const JobLog* log = nullptr;
  const LogSteps* steps = nullptr;
  const LogAccount* account = nullptr;
  const LogModel* model = nullptr;
  const LogRates* rates = nullptr;
};

[[nodiscard]] std::string log_text(const LogReport& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json log_tree(const LogReport& report);
// What a reader of the figures should know: restarts, cut lines, figures that contradict.
[[nodiscard]] std::vector<std::string> log_warnings(const LogReport& report);

}  // namespace stepscope
