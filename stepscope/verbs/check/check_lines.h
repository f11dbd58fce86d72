// SPDX-License-Identifier: Apache-2.0
// What `stepscope check` says of what it measured.
#pragma once

#include <vector>

#include "stepscope/fit/log_rates.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/check/check_result.h"

namespace stepscope {

// In the order of CheckLine's names; "step_time" of a log with enough steps to show a change,
// "loss" of a log that has one, "gpu_utilization" of a log of GPUs among the inputs.
[[nodiscard]] std::vector<CheckLine> check_lines(const CheckResult& result);
// What went wrong in the job of a log, the worst first: a loss that is no number, a step that
// became slower, with the timer that explains it.
[[nodiscard]] Messages log_findings(const LogFacts& log);
// What another recording should have that this one lacks.
[[nodiscard]] Messages record_next(const CheckResult& result);

}  // namespace stepscope
