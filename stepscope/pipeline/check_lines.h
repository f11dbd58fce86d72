// SPDX-License-Identifier: Apache-2.0
// What each figure of a few steps means for `stepscope check`, and what to record next.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/fit/log_rates.h"

namespace stepscope {

enum class CheckedKind : std::uint8_t { trace, train, log, list };
inline constexpr std::array<std::string_view, 4> checked_kind_names = {"trace", "train", "log",
                                                                       "list"};

enum class CheckStatus : std::uint8_t { good, look, unknown };
inline constexpr std::array<std::string_view, 3> check_status_names = {"good", "look", "unknown"};

struct CheckLine {
  std::string name;  // "steps", "mfu", "rank_balance", "stragglers", "communication",
                     // "idle", "headroom"
  CheckStatus status = CheckStatus::unknown;
  std::optional<double> value;  // share of one; steps: effective ones
  std::string sentence;
};

// All seven, in that order. `log`: of a log, else null. `why_no_mfu`: where the facts have none.
// `least_effective`: steps that a comparison needs.
[[nodiscard]] std::vector<CheckLine> check_lines(const StepFacts& facts, const LogFacts* log,
                                                 const std::string& why_no_mfu,
                                                 double least_effective);
// What another recording should have that this one lacks. `job`: of traces, else null.
[[nodiscard]] std::vector<std::string> record_next(CheckedKind kind, const StepFacts& facts,
                                                   const JobResult* job, double least_effective);

}  // namespace stepscope
