// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope check`: a few figures, what each means, and what to record next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/pipeline/check.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/log_report.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

enum class CheckStatus : std::uint8_t { good, look, unknown };

struct CheckLine {
  std::string name;  // "steps", "mfu", "rank_balance", "stragglers", "communication",
                     // "idle", "headroom"
  CheckStatus status = CheckStatus::unknown;
  std::optional<double> value;  // share of one; steps: effective ones
  std::string sentence;
};

// All seven, in that order.
[[nodiscard]] std::vector<CheckLine> check_lines(const CheckResult& report);
// What another recording should have that this one lacks.
[[nodiscard]] std::vector<std::string> record_next(const CheckResult& report);
[[nodiscard]] std::string check_text(const CheckResult& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json check_tree(const CheckResult& report);

}  // namespace stepscope
