// SPDX-License-Identifier: Apache-2.0
// What an answer lacks, and the switch that records it (docs/how-to/record-a-trace.md).
#pragma once

#include <optional>
#include <span>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/analysis/hang/incident_account.h"
#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/result.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/say/message.h"

namespace stepscope {

// `no_mfu`: why there is no MFU budget.
[[nodiscard]] Messages analyze_warnings(const Analysis& report, const std::optional<Error>& no_mfu);

// What limits the answers of the replay; empty where nothing does.
[[nodiscard]] Messages replay_warnings(const JobResult& job);

// What a reader of the replay's answers should know: changes that change nothing, and their notes.
[[nodiscard]] Messages scenario_notes(std::span<const WhatIf> scenarios);

// What a reader of step times should know besides the figures: of two runs compared, and of a log.

// Warm-up without an end, one launch an arm, drift.
[[nodiscard]] Messages compare_warnings(const RunComparison& runs);
// Restarts, cut lines, figures that contradict.
[[nodiscard]] Messages log_warnings(const LogFacts& log);

// What logs of GPUs given with the traces lack, and why.

// Empty without logs.
[[nodiscard]] Messages gpu_log_warnings(const std::optional<GpuEvidence>& gpus,
                                        std::span<const RankResult> ranks);

// What records of communication cannot show of a hang, and what was not understood in them.

[[nodiscard]] Messages hang_warnings(const CommRecords& records, const HangAccount& account,
                                     const IncidentAccount& incident);

}  // namespace stepscope
