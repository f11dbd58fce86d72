// SPDX-License-Identifier: Apache-2.0
// What the verbs that take traces share: the files read, and the questions' options.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/stop.h"
#include "stepscope/cli/analyze_flags.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/diagnose/analysis.h"
#include "stepscope/read/files/read_trace.h"

namespace stepscope {

// Files that cannot be read are failures; the others are read. `seconds`: what it took.
[[nodiscard]] Run read_inputs(const AnalyzeFlags& flags, const StopFlag& stop, Failures& failures,
                              double& seconds);
[[nodiscard]] std::vector<InputRow> input_rows(const Run& run);
// The ranks of --ranks; a failure where that leaves none.
[[nodiscard]] std::vector<RankInput> wanted_ranks(const AnalyzeFlags& flags, Run& run,
                                                  Failures& failures);
[[nodiscard]] JobOptions job_options(const AnalyzeFlags& flags, const StopFlag& stop,
                                     std::optional<int> world_size);
// --steps that leave nothing are a mistake worth a line and no success.
void check_steps(const AnalyzeFlags& flags, const JobResult& job, Failures& failures);

}  // namespace stepscope
