// SPDX-License-Identifier: Apache-2.0
// `stepscope check`: what do a few steps show already, of a trace, a log, the JSON of `stepscope
// train` or a list of step times?
#pragma once

#include <optional>

#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/plan/memory_plan.h"
#include "stepscope/read/log/step_times.h"
#include "stepscope/verbs/check/check_result.h"  // IWYU pragma: export
#include "stepscope/verbs/inputs/job_description.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

struct CheckRequest {
  // The inputs: one file of any kind, or traces of one run; logs of its GPUs with them.
  TracesRequest traces{};
  StepReading reading{};  // of logs and lists
  JobDescription job{};   // for MFU; where a log says something else, this counts
  // For HFU of logs and lists: none, selective or full. Absent: what the log says.
  std::optional<Recompute> recompute{};
  bool list = false;  // the checklists too; of traces they need a replay
};

// Errors: nothing could be read (the first failure), no step, interrupted.
[[nodiscard]] Result<CheckResult> check(const CheckRequest& request, const Progress& progress = {});

}  // namespace stepscope
