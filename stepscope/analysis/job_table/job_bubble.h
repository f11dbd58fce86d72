// SPDX-License-Identifier: Apache-2.0
// The bubble of each pipeline stage (pipeline_bubble.h) and its causes (bubble_shares.h), for a
// job's table of operations. Here
//   message  a send or receive between stages is in flight and nothing else is
//   wait     another collective waits for its last member, and nothing else is in flight
//   work     compute, transfers of other collectives, the optimizer, garbage collection
// T₁ and T₂ are replays without launch delays (job_replay.h), which are part of `rest`. Balanced
// stages are as in job_balance.h.
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
  std::size_t steps = 0;  // steps times DP ranks: the sums are over these
  std::vector<JobStageBubble> by_stage;
};

// Absent for one stage, or if a stage has no forward or no backward.
[[nodiscard]] std::optional<JobBubble> job_bubble(const JobOperations& table,
                                                  const JobLayout& layout, const JobReplay& replay);

}  // namespace stepscope
