// SPDX-License-Identifier: Apache-2.0
// Answers every question about one run in order: ranks are indexed and divided into steps,
// collectives are matched over all ranks, clocks are put on one time axis, and then each rank is
// accounted for. The result contains everything that the faces print and that the MFU budget needs:
// each member is the table that one analysis fills.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/budget/timeline.h"
#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/analysis/ranks/gpu_match.h"
#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/ranks/stragglers.h"
#include "stepscope/analysis/ranks/unit_waits.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/runs/job_steps.h"
#include "stepscope/analysis/runs/rank_result.h"
#include "stepscope/base/crew.h"
#include "stepscope/base/stop.h"

namespace stepscope {

struct JobOptions {
  StepOptions steps;
  std::optional<std::int64_t> first_step;  // --steps A:B, by Step::index, both included
  std::optional<std::int64_t> last_step;
  std::optional<int> world_size;
  GroupDimensions dimensions;
  ParallelSizes sizes;  // --tp/--pp/--dp
  bool timeline = false;
  bool details = true;              // of the traces stay; else release_details() before the replay
  bool explain = true;              // the graph, its critical path, blame and standing what-ifs
  std::vector<Scenario> scenarios;  // what-ifs instead of the standing ones
  MessageModel messages;            // of the named machine, if any (what_if.h); may be empty
  bool standing = true;             // the standing what-ifs, unless there are scenarios
  ReplayVisitor visit;              // called once if there is a replay, also one that answers no
                                    // what-if; may be empty
  Workers threads{};
  const StopFlag* stop = nullptr;  // checked between questions
};

struct RankInput {
  int rank = 0;
  Trace* trace = nullptr;  // its instants are corrected if clocks are aligned
};

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

// Ranks in ascending order, each once. If clocks are aligned (ClockAlignment::applied), the
// traces are put on the common time axis for all later uses. O(N log N) in the number of rows.
[[nodiscard]] JobResult analyze_job(std::span<const RankInput> ranks,
                                    const JobOptions& options = {});

// The timeline of ranks that analyze_job() accounted for with these options, whose `timeline` was
// not asked for then.
[[nodiscard]] Timeline timeline_of(std::span<const RankInput> ranks, const JobOptions& options);

}  // namespace stepscope
