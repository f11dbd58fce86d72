// SPDX-License-Identifier: Apache-2.0
// What `stepscope check` found out of a few steps, and what each figure means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/analysis/runs/step_times_by_rank.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/result.h"
#include "stepscope/diagnose/checklists.h"
#include "stepscope/fit/log_rates.h"
#include "stepscope/fit/mfu_budget.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/check/check_line.h"
#include "stepscope/verbs/check/gpu_use.h"
#include "stepscope/verbs/check/phase_times.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

enum class CheckedKind : std::uint8_t { trace, train, log, list };
inline constexpr auto checked_kind_names = enum_names<CheckedKind::list>;

struct CheckResult {
  std::string version;
  std::string input;  // as given
  CheckedKind kind = CheckedKind::list;
  StepFacts facts;
  StepTimesByRank times{};         // steps are numbered from 0 on if the input does not number them
  std::optional<JobResult> job{};  // of traces
  std::optional<LogFacts> log{};   // of a log
  std::optional<PhaseTimes> phases{};  // of a table that has them
  std::optional<GpuUse> gpu_use{};     // of logs of GPUs
  Messages late{};                     // the ranks that are late
  Message why_no_mfu{};                // where the facts have no MFU
  Message impossible_mfu{};            // where it would be above the peak; the facts have no MFU
  bool recompute_needs_model = false;  // for HFU: FLOPs do not show what is repeated
  bool model_given = false;            // or its FLOPs
  std::vector<ConventionMfu> mfu_conventions{};  // of the given model, with the facts' MFU
  double least_effective = 8;                    // steps that a comparison needs
  Messages lead{};                               // what went wrong in the job, the worst first
  std::vector<CheckLine> lines{};                // what each figure means
  std::vector<Checklist> checklists{};           // empty unless requested
  Messages record_next{};                        // what another recording should have
  Messages warnings{};
  std::vector<Error> failures{};  // inputs that could not be read
  Run run{};                      // owns the names that `job` refers to
};

}  // namespace stepscope
