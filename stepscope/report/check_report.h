// SPDX-License-Identifier: Apache-2.0
// The faces of `stepscope check`: a few figures, what each means, and what to record next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/report/json_values.h"
#include "stepscope/report/log_report.h"
#include "stepscope/report/text_options.h"

namespace stepscope {

struct CheckReport {
  std::string version;
  std::string input;  // as typed
  std::string kind;   // "trace", "train", "log" or "list"
  const StepFacts* facts = nullptr;
  const JobResult* job = nullptr;  // of traces
  const LogReport* log = nullptr;  // of a log
  std::string why_no_mfu{};        // where facts have none
  double least_effective = 8;      // steps that a comparison needs
  std::vector<std::string> warnings{};
};

enum class CheckStatus : std::uint8_t { good, look, unknown };

struct CheckLine {
  std::string name;  // "steps", "mfu", "rank_balance", "stragglers", "communication",
                     // "idle", "headroom"
  CheckStatus status = CheckStatus::unknown;
  std::optional<double> value;  // share of one; steps: effective ones
  std::string sentence;
};

// All seven, in that order.
[[nodiscard]] std::vector<CheckLine> check_lines(const CheckReport& report);
// What another recording should have that this one lacks.
[[nodiscard]] std::vector<std::string> record_next(const CheckReport& report);
[[nodiscard]] std::string check_text(const CheckReport& report, const TextOptions& options = {});
// docs/reference/json.md.
[[nodiscard]] Json check_tree(const CheckReport& report);

}  // namespace stepscope
