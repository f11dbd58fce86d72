// SPDX-License-Identifier: Apache-2.0
// Everything that the faces print of one run and that the MFU budget needs: each member is the
// table that one analysis fills.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/analysis/budget/timeline.h"
#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/analysis/ranks/gpu_match.h"
#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/ranks/stragglers.h"
#include "stepscope/analysis/ranks/unit_waits.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/runs/job_steps.h"
#include "stepscope/analysis/runs/rank_result.h"

namespace stepscope {

struct JobResult {
  std::vector<RankResult> ranks;
  JobSteps steps;
  Collectives collectives;
  JobTraffic traffic;
  JobUnits units;
  ClockAlignment clocks;
  std::vector<Straggler> stragglers;
  std::optional<PipelineBubble> pipeline;  // absent if nothing passes between stages
  std::optional<Explanation> explanation;  // absent without steps, or if not requested
  std::optional<Timeline> timeline;
  std::optional<GpuEvidence> gpus;  // of logs given with the traces (gpu_evidence.h); absent: none
  bool interrupted = false;
};

// Zero of the rank's instants in the faces: that of the job, or its first event, because relative
// clocks have no common zero.
[[nodiscard]] inline Ns origin_of(const JobResult& job, int rank) {
  const RankResult* r = find_rank(job.ranks, rank);
  return r == nullptr || job.clocks.origin.count() != 0 ? job.clocks.origin : r->recording.start;
}

}  // namespace stepscope
