// SPDX-License-Identifier: Apache-2.0
// Answers every question about one run in order: ranks are indexed and divided into steps,
// collectives are matched over all ranks, clocks are put on one time axis, and then each rank is
// accounted for. The result contains everything that the faces print and that the MFU budget needs.
//
// Names in the tables are StringIds of the rank's own pool (RankResult::strings). The pool is part
// of the trace: keep the traces alive as long as the result.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/budget/allocation_retries.h"
#include "stepscope/analysis/budget/host_calls.h"
#include "stepscope/analysis/budget/idle.h"
#include "stepscope/analysis/budget/time_budget.h"
#include "stepscope/analysis/budget/timeline.h"
#include "stepscope/analysis/collectives/collectives.h"
#include "stepscope/analysis/collectives/ddp_buckets.h"
#include "stepscope/analysis/collectives/overlap.h"
#include "stepscope/analysis/collectives/transfers.h"
#include "stepscope/analysis/matching/clock_alignment.h"
#include "stepscope/analysis/ranks/gpu_match.h"
#include "stepscope/analysis/ranks/pipeline_bubble.h"
#include "stepscope/analysis/ranks/roles.h"
#include "stepscope/analysis/ranks/stragglers.h"
#include "stepscope/analysis/ranks/unit_waits.h"
#include "stepscope/analysis/recording/recording.h"
#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/analysis/work/counter_figures.h"
#include "stepscope/analysis/work/device_memory.h"
#include "stepscope/analysis/work/executed.h"
#include "stepscope/analysis/work/kernels.h"
#include "stepscope/analysis/work/range_tree.h"
#include "stepscope/base/crew.h"
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

// Metadata of a trace: nanoseconds of a step while the profiler waits.
inline constexpr std::string_view unrecorded_step_key = "stepscope_unrecorded_step_ns";

// The account of a rank's steps that count (counted_steps.h), without idle pieces. Empty if no step
// counts.
struct CountedAccount {
  std::vector<Step> steps;
  TimeBudget budget;
  PhaseBudget phases;
  std::vector<ClassTime> classes;  // parallel to the steps; empty without a device
};

struct RankResult {
  int rank = 0;
  const StringPool* strings = nullptr;
  std::string device;    // "cuda", "rocm", "mtia", "xpu" or "cpu"
  std::string gpu_name;  // of its GPU; empty = not in the trace
  std::optional<Bytes> gpu_memory;
  std::optional<Ns> unrecorded_step;  // median, by stepscope.torch.profile (unrecorded_step_key)
  std::string role = "all";
  std::vector<Step> steps;
  TimeBudget budget;
  OutsideSteps outside;
  Ns window_start{};  // first start and last end of any row
  Ns window_end{};
  PhaseBudget phases;
  std::vector<PhaseSummary> phase_summaries;
  CountedAccount counted;
  std::vector<GpuWindow> gpu_windows;
  std::vector<IdleCause> idle;
  std::optional<Overlap> overlap;
  KernelTable kernels;
  std::optional<CounterSamples> samples;  // absent: none of a known metric
  std::vector<OperatorRow> operators;
  Executed executed;
  std::vector<RangeNode> ranges;
  HostTable host;
  GilWaits gil;
  AllocationRetries retries;
  MemoryTable memory;
  RankRecording recording;
};

struct JobStep {
  std::int64_t index = 0;
  Ns start{};  // of the first rank that begins
  Ns wall{};   // max end − min start if clocks are comparable, else the longest
  std::vector<int> ranks;
};

struct MissingStep {
  int rank = 0;
  std::int64_t index = 0;
};

// A rank whose file ends too early (incomplete_steps.h).
struct CutRank {
  int rank = 0;
  std::vector<std::int64_t> steps;  // broken and left out, ascending; of those asked for
  bool window = false;              // the whole trace was one step, and is left out
  std::size_t whole = 0;            // steps that are left
};

// The spread of one category over ranks, per step.
struct CategorySpread {
  double mean = 0;
  double worst = 0;
  int worst_rank = 0;
  std::optional<double> stdev;
};

struct JobResult {
  std::vector<RankResult> ranks;
  std::vector<JobStep> steps;  // steps that every rank has
  // The steps that count, and their lengths: the same for every verb (counted_steps.h). If no step
  // counts, the steps that every rank has.
  std::vector<Step> counted;
  std::optional<Summary> step_summary;  // of these lengths, in ns
  // First and last index of any rank, including those outside first_step and last_step.
  std::optional<std::pair<std::int64_t, std::int64_t>> recorded_steps;
  std::vector<MissingStep> missing;  // steps that a rank lacks; not part of the means
  std::vector<CutRank> cut;          // by rank; their broken steps are not in `missing`
  Budget mean;                       // over ranks and steps, per step, rounded to ns
  std::array<CategorySpread, budget_category_count> spread{};
  std::vector<PhaseSummary> phases;  // over all ranks
  Collectives collectives;
  ClockAlignment clocks;
  std::vector<Transfer> transfers;
  std::vector<GroupRate> group_rates;
  std::vector<NamedCalls> algorithms;               // of collectives whose kernels' names show it
  std::vector<std::vector<DdpBucket>> ddp_buckets;  // by rank, as `ranks`
  std::vector<UnitWaits> unit_waits;                // by rank, as `ranks`
  std::vector<UnitRow> units;                       // over all ranks, latest first
  std::vector<UnitReduceRow> unit_reduces;          // over all ranks, most exposed first
  std::vector<Straggler> stragglers;
  std::optional<PipelineBubble> pipeline;  // absent if nothing passes between stages
  std::optional<Explanation> explanation;  // absent without steps, or if not requested
  std::optional<Timeline> timeline;
  std::optional<GpuEvidence> gpus;  // of logs given with the traces (gpu_evidence.h); absent: none
  Ns origin{};  // zero of the instants in the faces; zero if clocks are relative
  bool interrupted = false;
};

// By budget category, ns.
using CategoryMeans = std::array<double, budget_category_count>;
// The steps of a rank that count, else its recorded steps. The three are parallel.
struct AccountedSteps {
  std::span<const Step> steps;
  std::span<const Budget> budgets;
  std::span<const StepPhases> phases;
};
[[nodiscard]] AccountedSteps accounted_steps(const RankResult& rank);
// Their mean. REQUIRES: steps.
[[nodiscard]] CategoryMeans mean_step_of(const RankResult& rank);

// Null: no trace is of it.
[[nodiscard]] const RankResult* find_rank(const JobResult& job, int rank);
// The first of several. REQUIRES: ranks.
template <class Of>
[[nodiscard]] const RankResult& rank_with_most(const JobResult& job, Of&& of) {
  return *std::ranges::max_element(job.ranks, {}, of);
}
// The trace of the rank has no steps: its whole window is taken for one.
[[nodiscard]] bool is_window(const RankResult& rank);

// Largest number of recorded steps of any rank, at least 1. A sum over a rank's steps divided by
// this is per step.
[[nodiscard]] std::int64_t most_steps(const JobResult& job);

// Ranks in ascending order, each once. If clocks are aligned (JobResult::clocks.applied), the
// traces are put on the common time axis for all later uses. O(N log N) in the number of rows.
[[nodiscard]] JobResult analyze_job(std::span<const RankInput> ranks,
                                    const JobOptions& options = {});

// The timeline of ranks that analyze_job() accounted for with these options, whose `timeline` was
// not asked for then.
[[nodiscard]] Timeline timeline_of(std::span<const RankInput> ranks, const JobOptions& options);

}  // namespace stepscope
