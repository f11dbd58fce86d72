// SPDX-License-Identifier: Apache-2.0
// Whether the stages of a job's pipeline have as much to compute as one another. A stage takes what
// its DP ranks compute in a mean step, the lower median of them, so that one slow worker makes no
// slow stage; balanced, the compute of each stage is scaled to the mean of all stages.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/job_table/job_replay.h"

namespace stepscope {

struct StageBalance {
  int slowest = 0;              // stage
  double more = 0;              // its time ÷ the mean of the other stages' − 1
  Seconds step{};               // the mean step balanced, without launch delays
  std::optional<double> rem{};  // (T − step) ÷ (T − T_ideal), as StragglerJob has it
};

// By stage: what one step's forward and backward passes of it compute.
[[nodiscard]] std::vector<Seconds> stage_times(const JobLayout& layout, const JobReplay& replay);
// JobReplay::work of the balanced job. As recorded where a stage computes nothing.
[[nodiscard]] std::vector<Ns> balanced_work(const JobLayout& layout, const JobReplay& replay);
// Absent for one stage, and where a stage computes nothing. `rem` is left absent.
[[nodiscard]] std::optional<StageBalance> stage_balance(const JobLayout& layout,
                                                        const JobReplay& replay);

}  // namespace stepscope
