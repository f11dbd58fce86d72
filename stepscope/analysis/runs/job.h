// SPDX-License-Identifier: Apache-2.0
// Every question about one run, asked in order: ranks are indexed and cut into steps, collectives
// are matched over all of them, clocks are put on one time axis, and then each rank is accounted
// for. What the faces print, and the MFU budget is computed from, is in here.
//
// Names in the tables are StringIds of the rank's own pool (RankResult::strings), which lives in
// the trace: keep the traces as long as the result.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/budget/allocation_retries.h"
#include "stepscope/analysis/budget/gil_waits.h"
#include "stepscope/analysis/budget/gpu_window.h"
#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/budget/idle.h"
#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/budget/timeline.h"
#include "stepscope/analysis/collectives/class_time.h"
#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/collectives/ddp_buckets.h"
#include "stepscope/analysis/collectives/kernel_algorithm.h"
#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/ranks/stragglers.h"
#include "stepscope/analysis/ranks/unit_waits.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/work/device_memory.h"
#include "stepscope/analysis/work/executed.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/analysis/work/operators.h"
#include "stepscope/analysis/work/range_tree.h"
#include "stepscope/base/stop.h"
#include "stepscope/stats/summary.h"

namespace stepscope {

struct JobOptions {
  StepOptions steps;
  std::optional<std::int64_t> first_step;  // --steps A:B, by Step::index, both included
  std::optional<std::int64_t> last_step;
  std::optional<int> world_size;
  GroupDimensions dimensions;
  ParallelSizes sizes;  // --tp/--pp/--dp
  bool timeline = false;
  bool explain = true;              // the graph, its critical path, blame and standing what-ifs
  std::vector<Scenario> scenarios;  // what-ifs instead of the standing ones
  MessageModel messages;            // of the machine, where one is named (what_if.h); may be empty
  unsigned threads = 1;
  const StopFlag* stop = nullptr;  // looked at between questions
};

struct RankInput {
  int rank = 0;
  Trace* trace = nullptr;  // its instants are corrected where clocks are aligned
};

struct RankResult {
  int rank = 0;
  const StringPool* strings = nullptr;
  std::string device;    // "cuda", "rocm", "mtia", "xpu" or "cpu"
  std::string gpu_name;  // of the GPU it works on; empty = the trace does not say
  std::optional<Bytes> gpu_memory;
  std::string role = "all";
  std::vector<Step> steps;
  TimeBudget budget;
  std::vector<ClassTime> classes;  // parallel to steps; empty without a device
  OutsideSteps outside;
  Ns window_start{};  // first start and last end of any row
  Ns window_end{};
  PhaseBudget phases;
  std::vector<PhaseSummary> phase_summaries;
  std::vector<GpuWindow> gpu_windows;
  std::vector<IdleCause> idle;
  std::optional<Overlap> overlap;
  KernelTable kernels;
  std::vector<OperatorRow> operators;
  Executed executed;
  std::vector<RangeNode> ranges;
  HostTable host;
  GilWaits gil;
  AllocationRetries retries;
  MemoryTable memory;
  bool has_shapes = false;
  bool has_sync_rows = false;
  bool has_launch_rows = false;
  bool device_unseen = false;  // kernels were launched, and none has a row
};

struct JobStep {
  std::int64_t index = 0;
  Ns start{};  // of the first rank to begin
  Ns wall{};   // max end − min start where clocks are comparable, else the longest
  std::vector<int> ranks;
};

struct MissingStep {
  int rank = 0;
  std::int64_t index = 0;
};

// Of one category over ranks, per step.
struct CategorySpread {
  double mean = 0;
  double worst = 0;
  int worst_rank = 0;
  std::optional<double> stdev;
};

struct JobResult {
  std::vector<RankResult> ranks;
  std::vector<JobStep> steps;           // that every rank has
  std::optional<Summary> step_summary;  // of their wall times, in ns
  // First and last index that any rank has, also those outside first_step and last_step.
  std::optional<std::pair<std::int64_t, std::int64_t>> recorded_steps;
  std::vector<MissingStep> missing;  // steps that some rank lacks, left out of the means
  Budget mean;                       // over ranks and steps, per step, rounded to ns
  std::array<CategorySpread, budget_category_count> spread{};
  std::vector<PhaseSummary> phases;  // over all ranks
  Collectives collectives;
  ClockAlignment clocks;
  std::vector<Transfer> transfers;
  std::vector<NamedCalls> algorithms;               // of collectives whose kernels' names tell
  std::vector<std::vector<DdpBucket>> ddp_buckets;  // by rank, as `ranks`
  std::vector<UnitWaits> unit_waits;                // likewise
  std::vector<UnitRow> units;                       // over all ranks, latest first
  std::vector<UnitReduceRow> unit_reduces;          // likewise, most exposed first
  RoleSource role_source = RoleSource::all_alike;
  std::vector<Straggler> stragglers;
  std::optional<PipelineBubble> pipeline;  // absent where nothing passes between stages
  std::optional<Explanation> explanation;  // absent without steps, or where it was not asked for
  std::optional<Timeline> timeline;
  Ns origin{};  // instants of the faces count from here; zero where clocks are relative
  bool interrupted = false;
};

// Recorded by the rank that has most, at least 1: sums over a rank's steps, divided by it, are a
// step's.
[[nodiscard]] std::int64_t most_steps(const JobResult& job);

// Ranks in ascending order, each once. Where clocks are aligned (JobResult::clocks.applied) the
// traces are put on the common time axis, for whatever is made of them afterwards. O(N log N) in
// the number of rows.
[[nodiscard]] JobResult analyze_job(std::span<const RankInput> ranks,
                                    const JobOptions& options = {});

}  // namespace stepscope
