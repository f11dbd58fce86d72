// SPDX-License-Identifier: Apache-2.0
// The bubble of each pipeline stage (pipeline_bubble.h) of a job's table of operations, and what it
// is due to (bubble_shares.h). Here
//   message  a send or receive between stages is under way and nothing else is
//   wait     another collective waits for its last member, and nothing else is under way
//   work     compute, transfers of other collectives, the optimizer, garbage collection
// T₁ and T₂ are replays without launch delays (job_replay.h), which are part of `rest`; balanced
// as job_balance.h says.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/job_table/job_replay.h"
#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/replay/bubble_shares.h"

namespace stepscope {

// Of one stage, summed over DP ranks and steps.
struct JobStageBubble {
  int stage = 0;
  StageTimes total;
  BubbleShares due_to;
};

struct JobBubble {
  int stages = 0;
  int micro_batches = 0;
  int chunks = 1;
  PipelineSchedule schedule = PipelineSchedule::unknown;
  std::size_t steps = 0;  // times DP ranks: what the sums are of
  std::vector<JobStageBubble> by_stage;
};

// Absent for one stage, and where a stage has no forward or no backward.
[[nodiscard]] std::optional<JobBubble> job_bubble(const JobOperations& table,
                                                  const JobLayout& layout, const JobReplay& replay);

}  // namespace stepscope
