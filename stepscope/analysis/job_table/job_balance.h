// SPDX-License-Identifier: Apache-2.0
// Compares the compute of the stages of a job's pipeline. The time of a stage is the compute of its
// DP ranks in a mean step. The lower median of the ranks counts, so that one slow worker does not
// make a slow stage. In the balanced job the compute of each stage is scaled to the mean of all
// stages.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/job_table/job_replay.h"

namespace stepscope {

struct StageBalance {
  int slowest = 0;              // stage
  double more = 0;              // its time ÷ the mean of the other stages − 1
  Seconds step{};               // mean balanced step, without launch delays
  std::optional<double> rem{};  // (T − step) ÷ (T − T_ideal), as in StragglerJob
};

// By stage: compute time of one step's forward and backward passes.
[[nodiscard]] std::vector<Seconds> stage_times(const JobLayout& layout, const JobReplay& replay);
// JobReplay::work of the balanced job. Unchanged if a stage computes nothing.
[[nodiscard]] std::vector<Ns> balanced_work(const JobLayout& layout, const JobReplay& replay);
// Absent for one stage, or if a stage computes nothing. Does not set `rem`.
[[nodiscard]] std::optional<StageBalance> stage_balance(const JobLayout& layout,
                                                        const JobReplay& replay);

}  // namespace stepscope
