// SPDX-License-Identifier: Apache-2.0
// The records of a job's ranks over the same steps. gather() joins ranks. It is associative and
// commutative, with the empty window as its identity; it rejects a duplicate rank, ranks over
// different steps, and ranks that were never in these steps at the same time. concat() appends a
// later stretch of the same ranks. Gather each stretch, then concat; the other order gives the same
// window as long as steps are kept.
//
// Ranks are summed only when a figure is read. A step of the job lasts from its earliest begin to
// its latest end. The wall time of several steps is the time that at least one of them covers:
// where ranks are in different steps at once, that time counts once. Times keep their distribution
// over ranks. A collective counts once for all its members.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/telemetry/rank_window.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/stats/quantile_sketch.h"

namespace stepscope {

// Sums over steps of figures that need all ranks of a step at once.
struct JobTotals {
  std::int64_t steps = 0;
  Ns begin{};           // of the first step; of at least one
  Ns end{};             // the latest of all steps
  Ns wall{};            // time that at least one step covers
  Ns committed_wall{};  // the part of it in steps that no rank skipped
  Ns device_wall{};     // ranks × wall
  std::int64_t tokens = 0;
  Flops model_flops{};
  Flops executed_flops{};
  ActivityTimes longest{};     // sum over steps of the longest of any rank
  QuantileSketch step_wall{};  // ns
};

struct JobWindow {
  std::vector<RankWindow> ranks{};  // ascending, one per rank
  JobTotals folded{};               // of steps whose records were dropped
  [[nodiscard]] bool empty() const { return ranks.empty(); }
};

[[nodiscard]] Result<JobWindow> gather(std::span<const RankWindow> ranks);
[[nodiscard]] Result<JobWindow> gather(const JobWindow& a, const JobWindow& b);
// Appends a later stretch of the same ranks. An empty window is the identity.
[[nodiscard]] Result<JobWindow> concat(const JobWindow& earlier, const JobWindow& later);
// The same in place. On an error, the ranks before the one in the error have been appended.
[[nodiscard]] Result<Done> append(JobWindow& earlier, const JobWindow& later);

// Sums up the records of single steps and collectives and drops them, so that the window of a long
// run stays small. It can then no longer be gathered with other ranks.
void fold_steps(JobWindow& window);

// One step of the job.
struct JobStepTimes {
  std::int64_t index = 0;
  Ns begin{};  // earliest of all ranks, on the job's clock
  Ns end{};    // latest
  Ns added{};  // time from begin to end that no earlier step covers
  int ranks = 0;
  std::int64_t tokens = 0;
  Flops model_flops{};
  Flops executed_flops{};
  bool skipped = false;
  ActivityTimes activity_sum{};  // sum over ranks (device time), like the two below
  Ns overlapped{};
  ExposedTime exposed{};
  ActivityTimes longest{};  // of any rank
};

// The kept steps, ascending.
[[nodiscard]] std::vector<JobStepTimes> job_steps(const JobWindow& window);
// The totals of all steps, kept or folded.
[[nodiscard]] JobTotals job_totals(const JobWindow& window);

// The distribution of a quantity over ranks.
struct OverRanks {
  double min = 0;
  double mean = 0;
  double max = 0;
  double stdev = 0;  // population standard deviation
  int min_rank = 0;
  int max_rank = 0;
  double sum = 0;
};
// Absent without ranks.
[[nodiscard]] std::optional<OverRanks> over_ranks(const JobWindow& window, Activity activity);
// Compute = forward, backward, recompute and optimizer.
[[nodiscard]] std::optional<OverRanks> compute_over_ranks(const JobWindow& window);
// max / mean - 1 of compute time.
[[nodiscard]] std::optional<double> imbalance(const JobWindow& window);

// A call of one rank, and its row in JobWindow::ranks.
struct RankArrival {
  std::size_t row = 0;
  const Arrival* call = nullptr;
};
// The kept calls of the ranks by group and number of the call, without messages. The window must
// outlive them.
using MatchedArrivals =
    std::map<std::pair<std::string_view, std::uint64_t>, std::vector<RankArrival>>;
[[nodiscard]] MatchedArrivals matched_arrivals(const JobWindow& window);

// One kind in one group, over all ranks that called it. Calls whose last arrival a rank did not
// know have it from the arrivals of all members, if the window has those of every such call.
struct JobCollective {
  CollectiveGroup group{};
  CollectiveKind kind = CollectiveKind::none;
  CollectivePurpose purpose = CollectivePurpose::other;
  std::uint64_t unique = 0;  // each once for all its members; messages: calls of both sides
  Bytes most_bytes{};        // of any rank
  CollectiveTotals sum{};    // over ranks
  // The sum of all calls, and of those whose last arrival is known.
  [[nodiscard]] Bytes bus_bytes() const {
    return stepscope::bus_bytes(kind, group.size, sum.bytes);
  }
  [[nodiscard]] Bytes timed_bus_bytes() const {
    return stepscope::bus_bytes(kind, group.size, sum.timed_bytes);
  }
};
[[nodiscard]] std::vector<JobCollective> job_collectives(const JobWindow& window);

struct JobLayer {
  std::string name{};
  Durations forward{};
  Durations backward{};
  Durations recompute{};
  int slowest_rank = 0;  // with the longest single run of the three
  int fastest_rank = 0;  // with the shortest
};
[[nodiscard]] std::vector<JobLayer> job_layers(const JobWindow& window);

}  // namespace stepscope
