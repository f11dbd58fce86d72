// SPDX-License-Identifier: Apache-2.0
// The launches of an experiment's arm from what was typed: trace files, directories and globs (a
// launch each, as `analyze` reads them), the JSON of `stepscope train`, lists of step times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/stop.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {

struct ArmSource {
  TimeUnit unit = TimeUnit::ms;  // of lists that name none
  JobOptions job;                // for traces
  unsigned threads = 1;
  const StopFlag* stop = nullptr;
};

// One launch. What can be read of damaged inputs is; files that fail are in `failures`, and without
// any step the launch is absent. `remarks`: a unit that was assumed, rows that were left out.
[[nodiscard]] std::optional<LaunchSteps> read_launch(const std::string& input,
                                                     const ArmSource& source,
                                                     std::vector<std::string>& remarks,
                                                     Failures& failures);

// A list that was read, as a launch.
[[nodiscard]] LaunchSteps launch_of(StepTimes times, std::string name,
                                    std::vector<std::string>& remarks);

}  // namespace stepscope
