// SPDX-License-Identifier: Apache-2.0
// The times of the steps of a run, of the job and of each rank: their statistics, and how far each
// rank is from the median of the ranks at the same step. The map of the latter has a bounded size:
// its cells join neighbouring steps, and neighbouring ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/runs/job.h"

namespace stepscope {

// Times are in ns and > 0.
struct NumberedStep {
  std::int64_t number = 0;  // as the input has it; two steps may have the same (a restart)
  double wall_ns = 0;
};

struct RankOfStep {
  int rank = 0;
  std::int64_t number = 0;
  double wall_ns = 0;
};

struct StepStatistics {
  std::size_t steps = 0;  // above 0
  double min_ns = 0;
  double median_ns = 0;
  double mean_ns = 0;
  double p95_ns = 0;
  double max_ns = 0;
  std::size_t outliers = 0;  // beyond the usual interval of these times (stats/hampel.h)
};

struct RankStatistics {
  int rank = 0;
  StepStatistics times;
  // Median over its steps of time / median of the ranks - 1; absent if it is alone at each step.
  std::optional<double> deviation{};
};

// Neighbouring steps of the job that are drawn as one.
struct StepColumn {
  std::int64_t first = 0;  // their numbers
  std::int64_t last = 0;
  double min_ns = 0;
  double median_ns = 0;
  double max_ns = 0;
};

// Neighbouring ranks that are drawn as one. A cell is the deviation that is furthest from 0 among
// its ranks and steps; absent if no rank of it has a step that another rank has, too.
struct DeviationRow {
  int first_rank = 0;
  int last_rank = 0;
  std::vector<std::optional<double>> cells{};  // parallel to the columns
};

struct StepTimesByRank {
  std::size_t steps = 0;                       // of the job
  std::size_t warm_up = 0;                     // leading steps that the statistics leave out
  std::optional<std::int64_t> counted_from{};  // number of the first step that they count
  std::optional<StepStatistics> job{};         // absent without a counted step
  std::vector<RankStatistics> ranks{};  // ascending; ranks without a counted step are left out
  std::vector<StepColumn> columns{};    // in the order of the steps; all of them
  std::vector<DeviationRow> map{};      // ascending; empty with fewer than two ranks
};

struct StepMapLimits {
  std::size_t columns = 400;
  std::size_t rows = 200;
};

// `job` in time order. A rank's step that the job lacks is left out; of two times of one rank and
// step the longer counts, and belongs to the last step of the job with that number.
[[nodiscard]] StepTimesByRank step_times_by_rank(std::span<const NumberedStep> job,
                                                 std::span<const RankOfStep> ranks,
                                                 std::size_t warm_up,
                                                 const StepMapLimits& limits = {});

// The time of each step of a job in each of its parts: the budget's categories, the classes of
// compute, the kernels and the operators, as series for statistical tests.

enum class PartKind : std::uint8_t {
  budget,     // exclusive: a step's categories sum to its wall time
  compute,    // classes of compute, exclusive: they sum to compute and comm_overlapped
  kernel,     // kernels of the device by name; they may overlap
  operation,  // operators by name and shapes: their kernels' time, on CPUs their own
};
inline constexpr std::array<std::string_view, 4> part_kind_names = {"budget", "class", "kernel",
                                                                    "operator"};

struct PartSeries {
  PartKind kind = PartKind::budget;
  std::string name;
  std::vector<double> ns;       // one per step of the job, mean over its ranks
  std::vector<double> calls{};  // the same; empty where they are not counted
  std::string shapes{};         // of operators, as recorded; may be empty
};

// In the order of `job.steps.counted`. Parts without time in any step are left out. `ranks` must be
// those that `job` was made from.
[[nodiscard]] std::vector<PartSeries> step_parts(const JobResult& job,
                                                 std::span<const RankInput> ranks);
// The same of operators. A job may have thousands of them.
[[nodiscard]] std::vector<PartSeries> operator_parts(const JobResult& job,
                                                     std::span<const RankInput> ranks);

}  // namespace stepscope
